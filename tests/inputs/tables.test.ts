import { findingsOf, planCluster, type ClusterSpec } from "../../components/recipe";
import { validStack } from "../recipe/stacks";
import { withValue } from "./inputs";
import { right } from "./right";
import { wrong } from "./wrong";

const count = (groups: { values: unknown[] }[]): number => groups.reduce((sum, { values }) => sum + values.length, 0);

test("the tables are wide", () => {
  expect(count(right)).toBeGreaterThanOrEqual(300);
  expect(count(wrong)).toBeGreaterThanOrEqual(300);
});

test.each(right.map((group, index) => ({ ...group, index })))("right: $index $base $at", ({ base, at, values }) => {
  const refused = values
    .map((value) => ({ value, stack: withValue(validStack(base), at, value) }))
    .map(({ value, stack }) => ({ value, findings: findingsOf(stack), stack }))
    .filter(({ findings, stack }) => findings.length > 0 || !planCluster(stack as ClusterSpec));
  expect(refused.map(({ value, findings }) => ({ value, findings }))).toEqual([]);
});

test.each(wrong.map((group, index) => ({ ...group, index })))(
  "wrong: $index $base $at, $check",
  ({ base, at, check, values }) => {
    const accepted = values
      .map((value) => ({ value, findings: findingsOf(withValue(validStack(base), at, value)) }))
      .filter(({ findings }) => !findings.some((finding) => finding.check === check));
    expect(accepted).toEqual([]);
    for (const value of values) {
      for (const finding of findingsOf(withValue(validStack(base), at, value))) {
        // No message repeats a text without end, nor a secret.
        expect(`${finding.field}${finding.problem}${finding.remedy}`.length).toBeLessThan(3000);
        expect(finding.problem + finding.remedy).not.toContain("abcdefghijklmnopqrstuvwxyz");
      }
    }
  },
);
