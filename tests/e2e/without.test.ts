import { fixes, planCluster, type ClusterSpec } from "../../components/recipe";
import { clusterOf, readStackFile } from "../../lab/stack-file";
import { runLab } from "./support";

const stacks = ["rtx5070ti", "aarhus-h100"];
const specs = stacks.map((stack): [string, ClusterSpec] => [stack, clusterOf(readStackFile(stack))]);
/** Every fix with every stack that uses it. */
const cases = specs.flatMap(([stack, spec]) => {
  const plan = planCluster(spec);
  return fixes.filter((fix) => fix.usedBy(plan)).map((fix): [string, string] => [stack, fix.id]);
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
