import { findingsOf, planCluster, type ClusterSpec } from "../../components/recipe";
import { validStack } from "../recipe/stacks";
import * as right from "./right";
import type { RightValues } from "./values";
import * as wrong from "./wrong";

/** A row for each field, with the row's number. */
const rowsByField = <Values extends RightValues>(areas: Record<string, Values[]>) =>
  Object.values(areas)
    .flat()
    .flatMap((row) => [row.field].flat().map((field) => ({ ...row, field })))
    .map((row, number) => ({ ...row, number }));

const rightValues = rowsByField(right);
const wrongValues = rowsByField(wrong);

/** A stack with another value at a field's path; undefined removes the field. */
function withValue(stack: unknown, field: string, value: unknown): unknown {
  const copy = structuredClone(stack) as Record<string, any>;
  const keys = field.split(".");
  const lastKey = keys.pop() ?? "";
  let parent: Record<string, any> = copy;
  for (const key of keys) {
    if (!Object.hasOwn(parent, key)) parent[key] = {};
    parent = parent[key];
  }
  if (value === undefined) Reflect.deleteProperty(parent, lastKey);
  else
    Object.defineProperty(parent, lastKey, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return copy;
}

const countValues = (rows: RightValues[]): number =>
  rows.reduce((sum, { values }) => sum + values.length, 0);

test("the tables have at least 480 right and 982 wrong values", () => {
  expect(countValues(rightValues)).toBeGreaterThanOrEqual(480);
  expect(countValues(wrongValues)).toBeGreaterThanOrEqual(982);
});

test.each(rightValues)(
  "every right value of $field in $base is accepted (row $number)",
  ({ base, field, values }) => {
    for (const value of values) {
      const stack = withValue(validStack(base), field, value);
      expect({ value, findings: findingsOf(stack) }).toEqual({ value, findings: [] });
      expect(planCluster(stack as ClusterSpec)).toBeDefined();
    }
  },
);

test.each(wrongValues)(
  "every wrong value of $field in $base is refused by the check $check (row $number)",
  ({ base, field: changedField, check, values }) => {
    for (const value of values) {
      const findings = findingsOf(withValue(validStack(base), changedField, value));
      expect({ value, checks: findings.map((finding) => finding.check) }).toEqual({
        value,
        checks: expect.arrayContaining([check]),
      });
      for (const { field, problem, remedy } of findings) {
        // No message repeats a very long text, or a secret.
        expect(`${field}${problem}${remedy}`.length).toBeLessThan(3000);
        expect(problem + remedy).not.toContain("abcdefghijklmnopqrstuvwxyz");
      }
    }
  },
);
