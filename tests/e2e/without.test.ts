import * as path from "node:path";
import { fixes, planCluster, type ClusterSpec } from "../../components/recipe";
import { clusterOf, readStackFile } from "../../stacks/stack-file";
import { runLab, told } from "./support";

const stacks = [
  "rtx5070ti",
  "aarhus-h100",
  "velaryon",
  "rtx3090",
  "frank",
  path.join(__dirname, "stacks/Pulumi.mig-single.yaml"),
];
const specs = stacks.map((stack): [string, ClusterSpec] => [stack, clusterOf(readStackFile(stack))]);
/** Every fix, each with the first stack that uses it. */
const cases = fixes.flatMap((fix): [string, string][] => {
  const [stack] = specs.find(([, spec]) => fix.usedBy(planCluster(spec))) ?? [];
  return stack === undefined ? [] : [[stack, fix.id]];
});

test("every fix is used by one of the stacks", () => {
  expect(cases.map(([, fix]) => fix)).toEqual(fixes.map(({ id }) => id));
});

// Two at a time (`maxConcurrency`): most of each is waiting.
test.concurrent.each(cases)(
  "%s without %s fails, ends, and is told by its own diagnosis alone",
  async (stack, fix) => {
    const { machines } = await failsBy(fix, ["--stack", stack, "--without", fix, "--no-checks"]);
    // Installed with one reboot, and begun anew: the loop itself.
    if (fix === "perMachinePatch") expect(machines["gpu-1"]!.reboots).toBeGreaterThanOrEqual(2);
  },
  5 * 60_000,
);

test(
  "a check refuses a stack without its fix, before any machine is asked",
  async () => {
    const report = await failsBy("driverBranches", ["--stack", "aarhus-h100", "--without", "driverBranches"]);
    expect(report.updates[0]?.machineRequests).toBe(0);
    expect(report.failures[0]?.symptom).toContain(
      "kernel modules are of branch lts, the container toolkit of production",
    );
  },
  5 * 60_000,
);

test(
  "a containerd part for the whole cluster beside the machine's own is refused, before Omni is told of either",
  async () => {
    const report = await failsBy("perMachinePatch", ["--stack", "frank", "--without", "perMachinePatch"]);
    expect(report.machines["gpu-1"]).toMatchObject({ reboots: 0, driverVersion: null });
    expect(report.failures[0]?.symptom).toContain("goes to the whole cluster as well");
  },
  5 * 60_000,
);

async function failsBy(fix: string, args: string[]): Promise<Awaited<ReturnType<typeof runLab>>["report"]> {
  const { status, report, lines } = await runLab(args);
  expect(status).toBe(1);
  expect(report.ok).toBe(false);
  const diagnosed = report.failures.map((failure) => failure.fix);
  if (diagnosed.join() !== fix) throw new Error(`diagnosed ${diagnosed.join()}, ${told(status, report, lines)}`);
  for (const part of ["symptom", "cause", "remedy"] as const) expect(report.failures[0]![part]).not.toBe("");
  return report;
}
