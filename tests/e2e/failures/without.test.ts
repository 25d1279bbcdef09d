import * as path from "node:path";
import { fixes } from "../../../components/diagnosis";
import { planCluster, type ClusterSpec } from "../../../components/recipe";
import { clusterOf, readStackFile, stackNameOf } from "../../../stacks/stack-file";
import type { LabReport } from "../../../lab/run/report";
import { assertOk, runLab, describeResult } from "../support/labs";

const stackFile = (name: string): string => path.join(__dirname, `../stacks/Pulumi.${name}.yaml`);
/** Stacks, the simplest first: every additional part costs time. */
const stacks = [
  stackFile("plain-operator"),
  stackFile("plain-plugin"),
  "rtx5070ti",
  "velaryon",
  "frank",
  stackFile("mig-single"),
  "large",
  stackFile("plain-next"),
  "next",
];
const specs = stacks.map((stack): [string, ClusterSpec] => [
  stack,
  clusterOf(readStackFile(stack)),
]);
/** Every fix, each with the first stack that uses it. */
const cases = fixes.flatMap((fix): [string, string, string][] => {
  const [stack] = specs.find(([, spec]) => fix.usedBy(planCluster(spec))) ?? [];
  return stack === undefined ? [] : [[stackNameOf(stack), fix.id, stack]];
});

test("every fix is needed by one of the stacks", () => {
  expect(cases.map(([, fix]) => fix)).toEqual(fixes.map(({ id }) => id));
});

/**
 * A fix whose effect needs more than a new update: a controller that was refused tries again at growing intervals
 * (see the fix's remedy).
 */
const fixWithSlowEffect = "privilegedNamespace";

// Run a few at a time (`maxConcurrency`), since each mostly waits.
test.concurrent.each(cases)(
  "%s without the fix %s fails with only that diagnosis, and comes up with the fix",
  async (_, fix, stack) => {
    const args = ["--stack", stack, "--without", fix];
    const { machines } =
      fix === fixWithSlowEffect
        ? (await expectFailure(fix, args)).report
        : await expectRepair(fix, args);
    // Installed with one reboot, and rebooted again: this is the loop that the fix prevents.
    if (fix === "perMachinePatch") expect(machines["gpu-1"]!.reboots).toBeGreaterThanOrEqual(2);
  },
);

test.concurrent(
  "a check refuses a stack that undoes a fix before any call to a machine, without a stack trace",
  async () => {
    const args = ["--stack", stackFile("aarhus-h100-mixed"), "--pulumi", "host"];
    const { report, lines } = await expectFailure("driverBranches", args);
    expect(report.updates).toMatchObject([{ result: "failed", machineRequests: 0 }]);
    expect(report.failures[0]?.symptom).toContain(refusal);
    const output = lines.join("\n");
    expect(output).toContain(refusal);
    expect(output).not.toMatch(/^\s+at .*\.[jt]s:\d+/m);
  },
);

const refusal =
  "the kernel modules are of branch lts, and the container toolkit is of branch production";

async function expectFailure(
  fix: string,
  args: string[],
): Promise<{ report: LabReport; lines: string[] }> {
  const { status, report, lines } = await runLab(args);
  expect(status).toBe(1);
  expect(report.ok).toBe(false);
  expectOnlyDiagnosis(fix, report.failures, describeResult(status, report, lines));
  return { report, lines };
}

/** The lab fails, and succeeds after the remedy. Then the doctor finds nothing, and the destroy leaves nothing. */
async function expectRepair(fix: string, args: string[]): Promise<LabReport> {
  const run = await runLab([...args, "--repair"]);
  expectOnlyDiagnosis(fix, run.report.mended!, describeResult(run.status, run.report, run.lines));
  assertOk(run);
  expect(run.report.left).toEqual([]);
  return run.report;
}

function expectOnlyDiagnosis(fix: string, failures: LabReport["failures"], output: string): void {
  const diagnosed = failures.map((failure) => failure.fix).join();
  if (diagnosed !== fix) throw new Error(`diagnosed ${diagnosed}, ${output}`);
  for (const part of ["symptom", "cause", "remedy"] as const)
    expect(failures[0]![part]).not.toBe("");
}
