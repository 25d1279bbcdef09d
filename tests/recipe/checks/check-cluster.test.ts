import {
  checks,
  findingsOf,
  InvalidStackError,
  judge,
  judgeWithFileTexts,
  renderFinding,
  type Finding,
} from "../../../components/recipe/index";
import { differingPaths } from "../differences";
import { sentencesOfChecks } from "./sentences";
import { changedStack, validStack, validStackNames } from "../stacks";
import { acceptedStacks } from "./accepted-stacks";
import { mistakes, mistakesByCheck } from "./mistakes";

const results = mistakes.map((mistake) => judge(changedStack(mistake)));
const resultsForFiles = mistakes.map((mistake) => judgeWithFileTexts(changedStack(mistake)));
const findingsForFiles = resultsForFiles.flatMap(({ findings, remarks }) => [
  ...findings,
  ...remarks,
]);
const refusals = results.flatMap(({ findings }) => findings);
const allFindings = [...refusals, ...results.flatMap(({ remarks }) => remarks)];
/** What identifies a finding in the tables. */
const checkAndField = ({ check, field }: { check: string; field: string }): string =>
  `${check} ${field}`;

describe("stacks with findings", () => {
  test.each(mistakes)("$name: exactly the expected findings are reported", (mistake) => {
    const { findings, remarks } = judge(changedStack(mistake));
    const expectedRefusals = mistake.findings.filter(({ severity }) => severity === undefined);
    expect(findings.map(checkAndField).sort()).toEqual(expectedRefusals.map(checkAndField).sort());
    for (const expected of mistake.findings) {
      const candidates = expected.severity === undefined ? findings : remarks;
      const reported = candidates.filter(
        (finding) => checkAndField(finding) === checkAndField(expected),
      );
      if (expected.severity !== undefined)
        expect(new Set(reported.map(({ severity }) => severity))).toEqual(
          new Set([expected.severity]),
        );
      const text = reported.map(renderFinding).join("\n");
      for (const messagePart of expected.says) expect(text).toContain(messagePart);
    }
  });

  test.each(mistakes)("$name: the stack has no findings without its mistake", (mistake) => {
    expect(mistake.findings).not.toEqual([]);
    expect(findingsOf(validStack(mistake.base))).toEqual([]);
    if (mistake.change === undefined) return;
    const changedPaths = differingPaths(validStack(mistake.base), changedStack(mistake));
    expect(changedPaths.length).toBeGreaterThan(0);
    // A mistake changes one field or a few, not the whole system.
    expect(changedPaths.length).toBeLessThanOrEqual(6);
  });

  test.each(mistakesByCheck.map(([check, mistake]) => ({ check, ...mistake })))(
    "$check: “$name” is in the table of its check",
    ({ check, findings }) => expect(findings[0]!.check).toBe(check),
  );

  test("every check has a stack, and every stack has a different name", () => {
    const checksInTables = new Set<string>(
      mistakes.flatMap(({ findings }) => findings.map(({ check }) => check)),
    );
    expect(Object.keys(checks).filter((id) => !checksInTables.has(id))).toEqual([]);
    expect(new Set(mistakes.map(({ name }) => name)).size).toBe(mistakes.length);
  });

  test("every finding has problem, why and remedy, without a full stop at the end", () => {
    for (const finding of refusals) {
      for (const part of ["problem", "why", "remedy"] as const) {
        expect(finding[part]).toMatch(/\S/);
        expect(finding[part]).not.toMatch(/[.;]$/);
      }
    }
  });
});

describe("valid stacks", () => {
  test.each(validStackNames())("%s has no findings", (name) => {
    const { findings, plan } = judge(validStack(name));
    expect(findings).toEqual([]);
    expect(plan!.spec).toEqual(validStack(name));
  });
});

test.each(acceptedStacks)("a stack is accepted: $name", (acceptedStack) => {
  const stack = changedStack(acceptedStack);
  expect(stack).not.toEqual(validStack(acceptedStack.base));
  expect(findingsOf(stack)).toEqual([]);
});

test("a finding about a secret does not contain the secret", () => {
  const stack = { ...validStack("one-card"), patches: ["machine:\n  token: abcdef.0123456789\n"] };
  expect(findingsOf(stack).map(({ check }) => check)).toEqual(["patch-secret"]);
  expect(JSON.stringify(findingsOf(stack))).not.toContain("0123456789");
});

describe("the table of checks", () => {
  test.each(Object.entries(checks))("%s: has a rule and a source", (_, { rule, source }) => {
    for (const text of [rule, source]) expect(text).toMatch(/^\S.*[^.\s]$/);
  });

  const namedSentences = sentencesOfChecks().map((sentence) => ({
    ...sentence,
    checkName: sentence.check ?? "one of the checks",
  }));
  test.each(namedSentences)(
    "$checkName: a finding on some stack contains “$sentence”",
    ({ check, pattern }) => {
      const findings = [...allFindings, ...findingsForFiles].filter(
        (finding) => check === undefined || finding.check === check,
      );
      const messageParts = findings.flatMap(({ problem, why, remedy, ofFiles }) => [
        problem,
        why,
        remedy,
        ...Object.values(ofFiles || {}),
      ]);
      expect(messageParts.some((part) => pattern.test(part))).toBe(true);
    },
  );

  test("no message contains undefined, NaN or [object", () => {
    for (const finding of allFindings)
      expect(renderFinding(finding)).not.toMatch(/\bundefined\b|\[object |\bNaN\b/);
  });
});

describe("an invalid stack", () => {
  const invalidStack = {
    ...validStack("modern"),
    gpuOperator: { version: "v26.3.0", values: { toolkit: { enabled: "no" } } },
    nonsense: true,
  };

  test("causes one error with all findings, numbered", () => {
    const { findings, plan } = judge(invalidStack);
    expect(plan).toBeUndefined(); // its shape is also wrong
    expect(findings.map((finding) => finding.check)).toEqual([
      "shape",
      "operator-version",
      "chart-values",
    ]);
    const { message } = new InvalidStackError(findings);
    findings.forEach((finding: Finding, index) =>
      expect(message).toContain(
        `${index + 1}. ${finding.field}: ${finding.problem}; ${finding.why}; ${finding.remedy}`,
      ),
    );
    expect(message).toContain("3 mistakes");
    const [first] = findings;
    expect(new InvalidStackError([first!]).message).toMatch(
      /^the stack has a mistake, so no machine and no cluster was contacted:\n1\. /,
    );
  });

  test.each([
    null,
    undefined,
    1,
    "text",
    [],
    {},
    { machines: [] },
    { talosVersion: "v1.12.6", machines: { a: null } },
  ])("causes a finding and no crash if it is %j", (raw) => {
    const { findings, plan } = judge(raw);
    expect(findings.length).toBeGreaterThan(0);
    expect(plan).toBeUndefined();
  });
});
