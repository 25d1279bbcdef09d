import { findingsOf, planCluster, type ClusterSpec } from "../../components/recipe";
import { validStack } from "../recipe/stacks";
import * as right from "./right";
import type { RightValues } from "./values";
import * as wrong from "./wrong";

/** Each field with its values, by number. */
const byField = <Values extends RightValues>(areas: Record<string, Values[]>) =>
  Object.values(areas)
    .flat()
    .flatMap((row) => [row.field].flat().map((field) => ({ ...row, field })))
    .map((row, number) => ({ ...row, number }));

const rightValues = byField(right);
const wrongValues = byField(wrong);

/** A stack with another value at a field's path; undefined removes the field. */
function withValue(stack: unknown, field: string, value: unknown): unknown {
  const copy = structuredClone(stack) as Record<string, any>;
  const keys = field.split(".");
  const last = keys.pop() ?? "";
  let parent: Record<string, any> = copy;
  for (const key of keys) {
    if (!Object.hasOwn(parent, key)) parent[key] = {};
    parent = parent[key];
  }
  if (value === undefined) Reflect.deleteProperty(parent, last);
  else
    Object.defineProperty(parent, last, {
      value,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  return copy;
}

const count = (rows: RightValues[]): number =>
  rows.reduce((sum, { values }) => sum + values.length, 0);

test("the tables have at least 480 right and 982 wrong values", () => {
  expect(count(rightValues)).toBeGreaterThanOrEqual(480);
  expect(count(wrongValues)).toBeGreaterThanOrEqual(982);
});

test.each(rightValues)(
  "every right value of $field in $base is accepted (row $number)",
  ({ base, field, values }) => {
    const refused = values
      .map((value) => ({ value, stack: withValue(validStack(base), field, value) }))
      .map(({ value, stack }) => ({ value, findings: findingsOf(stack), stack }))
      .filter(({ findings, stack }) => findings.length > 0 || !planCluster(stack as ClusterSpec));
    expect(refused.map(({ value, findings }) => ({ value, findings }))).toEqual([]);
  },
);

test.each(wrongValues)(
  "every wrong value of $field in $base is refused by the check $check (row $number)",
  ({ base, field: at, check, values }) => {
    for (const value of values) {
      const findings = findingsOf(withValue(validStack(base), at, value));
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
