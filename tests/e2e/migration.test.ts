import * as path from "node:path";
import { assertOk, expectReady, runLab } from "./support/labs";

const stackFile = (name: string): string => path.join(__dirname, "stacks", `Pulumi.${name}.yaml`);

interface Migration {
  before: string;
  after: string;
  /** Machine with the GPU. */
  machine: string;
  /** Resources that must be deleted before its upgrade, by the ends of their names. */
  deletedResources: string[];
  workloads: string[];
  /** Expected state of the machine. */
  finalState: { talosVersion: string; driverVersion: string; gpus: string };
}

const stateOnTalos113 = { talosVersion: "v1.13.0", driverVersion: "595.58.03", gpus: "1" };

const migrations: [string, Migration][] = [
  [
    "the operator of Talos 1.12 and its markers",
    {
      before: "rtx5070ti",
      after: stackFile("rtx5070ti-1.13"),
      machine: "k8s-worker4",
      deletedResources: ["release", "markers"],
      workloads: ["comfyui/comfyui", "ollama/ollama"],
      finalState: stateOnTalos113,
    },
  ],
  [
    "the device plugin and the RuntimeClass, with one machine in upgrade.first,",
    {
      before: stackFile("ahead"),
      after: stackFile("ahead-1.13"),
      machine: "gpu-2",
      deletedResources: ["release", "runtime-class"],
      workloads: ["ollama/ollama"],
      finalState: stateOnTalos113,
    },
  ],
  [
    "the operator without a toolkit, of Talos 1.14,",
    {
      before: stackFile("next-1.14"),
      after: "next",
      machine: "gpu",
      deletedResources: ["release"],
      workloads: ["gpu-pods/nvidia-test", "ollama/ollama"],
      finalState: { talosVersion: "v1.15.0-beta.0", driverVersion: "595.112.07", gpus: "2" },
    },
  ],
];

test.concurrent.each(migrations)(
  "one previewed update to a later Talos removes %s, upgrades the machines, and installs the operator",
  async (
    _,
    {
      before,
      after,
      machine: gpuMachine,
      deletedResources,
      workloads,
      finalState: { gpus, ...release },
    },
  ) => {
    const { status, report, lines } = await runLab([
      "--stack",
      before,
      "--then",
      after,
      "--updates",
      "2",
    ]);
    assertOk({ status, report, lines });
    // The first update has one reboot, and the migration another.
    expect(report.machines[gpuMachine]).toMatchObject({
      ...release,
      reboots: 2,
      allocatable: { "nvidia.com/gpu": gpus },
    });
    // A machine without a GPU applies the first part of its configuration without a reboot.
    if (report.machines["control"])
      expect(report.machines["control"]).toMatchObject({ talosVersion: "v1.13.0", reboots: 1 });
    expectReady(report, workloads);
    expect(report.updates.map(({ result }) => result)).toEqual(Array(4).fill("succeeded"));
    const [, repeatedUpdate, , repeatedMigration] = report.updates;
    for (const unchanged of [repeatedUpdate!, repeatedMigration!]) {
      expect(unchanged.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
      expect(unchanged.machineRequests).toBe(0);
    }

    const editLine = lines.findIndex((line) => line.includes("the stack file is edited"));
    const linesAfterEdit = lines.slice(editLine);
    expectUpgradeOrder(
      linesAfterEdit.filter((line) => line.includes("preview: ")),
      gpuMachine,
      deletedResources,
    );
    expectUpgradeOrder(
      linesAfterEdit.filter((line) => !line.includes("preview: ")),
      gpuMachine,
      deletedResources,
    );
    const { changes } = report.updates[2]!;
    expect(report.previews).toMatchObject([{ result: "succeeded", changes, machineRequests: 0 }]);
  },
);

test.concurrent(
  "one edit upgrades adopted and owned machines over two minors, through the minor in between, with two reboots",
  async () => {
    const { status, report, lines } = await runLab([
      "--stack",
      stackFile("edited-operator"),
      "--then",
      stackFile("far-behind-1.13"),
      "--updates",
      "2",
    ]);
    assertOk({ status, report, lines });
    for (const machine of ["control", "gpu-1", "gpu-2"]) {
      // The first update has one reboot, and the edit two.
      expect(report.machines[machine]).toMatchObject({
        talosVersion: "v1.13.9",
        driverVersion: "595.91.07",
        reboots: 3,
      });
      const pulls = lines.filter((line) => line.includes(`${machine}: pull: installer`));
      for (const release of [":v1.12.12, up to", ":v1.13.9, up to"])
        expect(pulls).toContainEqual(expect.stringContaining(release));
    }
    // The lab omits a message that repeats the previous one, such as those of the other machines.
    expect(lines).toContainEqual(
      expect.stringContaining("2 reboots: v1.11.5 → v1.12.12 → v1.13.9"),
    );
    expect(report.updates.map(({ result }) => result)).toEqual(Array(4).fill("succeeded"));
    const [, repeatedUpdate, migration, repeatedMigration] = report.updates;
    expect(migration!.reboots).toEqual({ control: 2, "gpu-1": 2, "gpu-2": 2 });
    for (const unchanged of [repeatedUpdate!, repeatedMigration!])
      expect(unchanged.machineRequests).toBe(0);
  },
);

/** Expects the order that Talos' documentation requires (siderolabs/docs, upgrading-talos 1.13, "Before upgrade"). */
function expectUpgradeOrder(lines: string[], machine: string, deletedResources: string[]): void {
  const indexOfLine = (pattern: RegExp): number => {
    const index = lines.findIndex((line) => pattern.test(line));
    if (index < 0) throw new Error(`no line ${pattern} in\n${lines.join("\n")}`);
    return index;
  };
  const upgradeIndex = indexOfLine(new RegExp(`update \\S+-${machine}-upgrade \\(`));
  for (const name of deletedResources)
    expect(indexOfLine(new RegExp(`delete-replaced \\S+-${name} \\(`))).toBeLessThan(upgradeIndex);
  expect(indexOfLine(/create-replacement \S+-release \(/)).toBeGreaterThan(upgradeIndex);
}
