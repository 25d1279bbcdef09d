import * as path from "node:path";
import { assertOk, runLab } from "./support/labs";

interface Expected {
  /** Stack file beside this one. */
  stack: string;
  allocatable: Record<string, string>;
  workloads: string[];
}

const mig: Expected[] = [
  // Two cards, seven slices of each.
  { stack: "mig-single", allocatable: { "nvidia.com/gpu": "14" }, workloads: ["gpu-pods/slice"] },
  {
    stack: "mig-mixed",
    allocatable: { "nvidia.com/mig-1g.12gb": "2", "nvidia.com/mig-2g.24gb": "1", "nvidia.com/mig-3g.47gb": "1" },
    workloads: ["gpu-pods/slice"],
  },
];

const mps: Expected[] = [
  {
    stack: "mps-operator",
    allocatable: { "nvidia.com/gpu": "4" },
    workloads: ["gpu-pods/client-1", "gpu-pods/client-2"],
  },
  {
    stack: "mps-plugin",
    allocatable: { "nvidia.com/gpu": "8" },
    workloads: ["gpu-pods/client-1", "gpu-pods/client-2"],
  },
];

// Some at a time (`maxConcurrency`): most of each is waiting.
test.concurrent.each([...mig, ...mps].map((expected): [string, Expected] => [expected.stack, expected]))(
  "%s: cards are shared as the plan says after one reboot, pods run on their shares, and a second update changes nothing",
  async (stack, { allocatable, workloads }) => {
    const file = path.join(__dirname, `stacks/Pulumi.${stack}.yaml`);
    const { status, report, lines } = await runLab(["--stack", file, "--updates", "2"]);
    assertOk({ status, report, lines });
    expect(report).toMatchObject({ stack, failures: [] });
    expect(report.machines["gpu-1"]).toMatchObject({ reboots: 1, allocatable });
    expect(report.workloads.map(({ namespace, name }) => `${namespace}/${name}`).sort()).toEqual(workloads);
    expect(report.workloads.every(({ ready }) => ready)).toBe(true);
    const [first, second] = report.updates;
    expect(second).toMatchObject({ result: "succeeded", machineRequests: 0 });
    expect(second!.changes).toEqual({ create: 0, update: 0, replace: 0, delete: 0, same: first!.changes.create });
  },
  10 * 60_000,
);

test.concurrent(
  "fewer slices, all of them in use: the smoke test evicts nobody, and the update says who uses them",
  async () => {
    const [four, two] = ["busy-4", "busy-2"].map((stack) => path.join(__dirname, `stacks/Pulumi.${stack}.yaml`));
    const busy = path.join(__dirname, "manifests/busy.yaml");
    const { status, report, lines } = await runLab(["--stack", four!, "--then", two!, "--manifest", busy]);
    assertOk({ status, report, lines });
    expect(report.updates.map(({ result }) => result)).toEqual(["succeeded", "succeeded"]);
    const said = lines.filter((line) => line.includes("not tested: all 2 units of nvidia.com/gpu are in use by"));
    expect(said).not.toEqual([]);
    for (const pod of [1, 2, 3, 4]) expect(said[0]).toContain(`default/busy-${pod} (1)`);
  },
  10 * 60_000,
);
