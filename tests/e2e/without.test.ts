import { fixes, planCluster, type ClusterSpec } from "../../components/recipe";
import { clusterOf } from "../../lab/bring-up";
import { readStackFile } from "../../lab/stack-file";
import { runLab } from "./support";

/** Each fix is left out of the first and of the last of the stacks that use it: every one on two systems at most. */
const stacks = ["rtx5070ti", "aarhus-h100", "velaryon", "rtx3090"];
const specs = stacks.map((stack): [string, ClusterSpec] => [stack, clusterOf(readStackFile(stack))]);
const cases = fixes.flatMap((fix) => {
  const users = specs.filter(([, spec]) => fix.usedBy(planCluster(spec))).map(([stack]) => stack);
  return [...new Set([users[0], users.at(-1)])]
    .filter((stack) => stack !== undefined)
    .map((stack): [string, string] => [stack, fix.id]);
});

test("every fix is used by one of the stacks", () => {
  expect([...new Set(cases.map(([, fix]) => fix))].sort()).toEqual(fixes.map(({ id }) => id as string).sort());
});

test.each(cases)(
  "%s without %s fails, ends, and is told by its own diagnosis alone",
  async (stack, fix) => {
    const { status, report, lines } = await runLab(["--stack", stack, "--without", fix]);
    expect(status).toBe(1);
    expect(report.ok).toBe(false);
    const diagnosed = report.failures.map((failure) => failure.fix);
    if (diagnosed.join() !== fix)
      throw new Error(`diagnosed ${diagnosed.join()}:\n${JSON.stringify(report, null, 1)}\n${lines.join("\n")}`);
    for (const part of ["symptom", "cause", "remedy"] as const) expect(report.failures[0]![part]).not.toBe("");
  },
  5 * 60_000,
);
