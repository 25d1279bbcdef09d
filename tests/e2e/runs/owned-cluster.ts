import * as fs from "node:fs";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import type { LabReport } from "../../../lab/run/report";
import { assertOk, expectLinesInOrder } from "../support/labs";

const stacks = path.join(__dirname, "..", "stacks");
const editedStacks = ["owned-1.11", "owned-1.13", "owned-1.35"].map(
  (name) => `Pulumi.${name}.yaml`,
);

/**
 * Options of a lab whose owned machines begin with Talos 1.11, get Talos 1.13 by one edit, and then the next Kubernetes
 * release.
 *
 * @param folder of the stack files. Default: those of a cluster that the stack makes.
 */
export const ownedClusterOptions = (folder = stacks): string[] => [
  "--preview",
  "--updates",
  "2",
  ...editedStacks.flatMap((file, index) => [
    index === 0 ? "--stack" : "--then",
    path.join(folder, file),
  ]),
];

/**
 * Writes the same stacks for one real machine, which is control plane and has the card, with a cluster that exists
 * before the stack: the Talos provider cannot install a machine that waits in maintenance mode with Talos older than
 * 1.13 (the check `boot-medium`). The stacks have the device plugin, since the operator's pods are too much for a
 * machine without KVM.
 */
export function writeStacksOfRealMachine(folder: string): void {
  for (const file of editedStacks) {
    const text = fs.readFileSync(path.join(stacks, file), "utf8");
    const { config } = parse(text) as { config: Record<string, unknown> };
    const { "talos-gpu:bootstrap": _, "talos-gpu:gpuOperator": operator, ...others } = config;
    const machines = config["talos-gpu:machines"] as Record<"control" | "gpu", { gpus: unknown }>;
    const { gpus } = machines.gpu;
    const stack = {
      config: {
        ...others,
        "talos-gpu:machines": { control: { ...machines.control, gpus, patches: [oneMachine] } },
        "talos-gpu:devicePlugin": { version: devicePluginNextTo(operator as { version: string }) },
      },
    };
    fs.writeFileSync(path.join(folder, file), stringify(stack));
  }
}

/** The device plugin of the time of an operator's release. */
const devicePluginNextTo = ({ version }: { version: string }): string =>
  version.startsWith("v25.") ? "0.17.4" : "0.19.3";

/**
 * Owner's configuration of a cluster of one machine. Scheduler and controller manager get the API server's share of a
 * busy processor. Talos gives them 5 and 25 per cent of it. Without KVM an API server uses all that it gets, and then
 * the scheduler does not answer its probes in time.
 */
const oneMachine = stringify({
  cluster: {
    allowSchedulingOnControlPlanes: true,
    scheduler: { resources: { requests: { cpu: "200m" } } },
    controllerManager: { resources: { requests: { cpu: "200m" } } },
  },
});

/** What of the result depends on the kind of machines. */
export interface OwnedClusterFacts {
  /** Release between v1.11.5 and v1.13.9 that the lab's Image Factory lists. */
  intermediateRelease: string;
  /** Reboots of each machine in the first update. */
  firstReboots: Readonly<Record<string, number>>;
  /** The machine that gets the new release last. */
  lastMachine: string;
}

/** Expects two reboots of each machine for the edit of Talos, none for the edit of Kubernetes, and nothing left. */
export function expectOwnedCluster(
  { status, report, lines }: { status: number | string; report: LabReport; lines: string[] },
  { intermediateRelease, firstReboots, lastMachine }: OwnedClusterFacts,
): void {
  const machines = Object.keys(firstReboots);
  const rebootsOfEach = (reboots: number): Record<string, number> =>
    Object.fromEntries(machines.map((machine) => [machine, reboots]));
  assertOk({ status, report, lines });
  expect(report.updates.map(({ result }) => result)).toEqual(Array(6).fill("succeeded"));
  const [first, unchanged, ofTalos, unchangedTalos, ofKubernetes, unchangedKubernetes] =
    report.updates;
  for (const { changes } of [unchanged!, unchangedTalos!, unchangedKubernetes!])
    expect(changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
  expect(first!.reboots).toEqual(firstReboots);

  // Pulumi deletes the former GPU provider before the cluster's Kubernetes provider is registered in this update.
  expectLinesInOrder(lines, [
    "preview: delete-replaced \\S+-release",
    "delete-replaced \\S+-release",
    `control: pull: installer \\S+:${intermediateRelease}, up to`,
    `${lastMachine}: pull: installer \\S+:v1\\.13\\.9, up to`,
    "create-replacement \\S+-release",
  ]);
  expect(ofTalos!.reboots).toEqual(rebootsOfEach(2));

  expect(ofKubernetes).toMatchObject({
    changes: { create: 0, replace: 0, delete: 0 },
    reboots: rebootsOfEach(0),
  });
  expectLinesInOrder(lines, [
    "v1\\.34\\.1 → v1\\.35\\.2",
    "control: images: registry\\.k8s\\.io/kube-apiserver:v1\\.35\\.2",
  ]);
  for (const machine of machines)
    expect(report.machines[machine]).toMatchObject({ talosVersion: "v1.13.9" });
  expect(report.left).toEqual([]);
}
