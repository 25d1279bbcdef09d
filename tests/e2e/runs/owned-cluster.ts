import * as fs from "node:fs";
import * as path from "node:path";
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
 * Writes the same stacks for a cluster that exists before the stack. The Talos provider cannot install a machine that
 * waits in maintenance mode with Talos older than 1.13 (the check `boot-medium`).
 */
export function writeStacksOfExistingCluster(folder: string): void {
  for (const file of editedStacks) {
    const text = fs.readFileSync(path.join(stacks, file), "utf8");
    fs.writeFileSync(path.join(folder, file), text.replace("  talos-gpu:bootstrap: true\n", ""));
  }
}

/** What of the result depends on the kind of machines. */
export interface OwnedClusterFacts {
  /** Release between v1.11.5 and v1.13.9 that the lab's Image Factory lists. */
  intermediateRelease: string;
  /** Reboots of both machines in the first update. */
  firstReboots: { control: number; gpu: number };
}

/** Expects two reboots of each machine for the edit of Talos, none for the edit of Kubernetes, and nothing left. */
export function expectOwnedCluster(
  { status, report, lines }: { status: number | string; report: LabReport; lines: string[] },
  { intermediateRelease, firstReboots }: OwnedClusterFacts,
): void {
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
    "gpu: pull: installer \\S+:v1\\.13\\.9, up to",
    "create-replacement \\S+-release",
  ]);
  expect(ofTalos!.reboots).toEqual({ control: 2, gpu: 2 });

  expect(ofKubernetes).toMatchObject({
    changes: { create: 0, replace: 0, delete: 0 },
    reboots: { control: 0, gpu: 0 },
  });
  expectLinesInOrder(lines, [
    "v1\\.34\\.1 → v1\\.35\\.2",
    "control: images: registry\\.k8s\\.io/kube-apiserver:v1\\.35\\.2",
  ]);
  for (const machine of ["control", "gpu"])
    expect(report.machines[machine]).toMatchObject({ talosVersion: "v1.13.9" });
  expect(report.left).toEqual([]);
}
