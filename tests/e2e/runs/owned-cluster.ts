import * as path from "node:path";
import type { LabReport } from "../../../lab/run/report";
import { assertOk, expectLinesInOrder } from "../support/labs";

const stackFile = (name: string): string =>
  path.join(__dirname, "..", "stacks", `Pulumi.${name}.yaml`);

/**
 * Options of a lab in which a stack makes its cluster on Talos 1.11, gets Talos 1.13 by one edit, and then the next
 * Kubernetes release.
 */
export const ownedClusterOptions = [
  "--stack",
  stackFile("owned-1.11"),
  "--preview",
  "--then",
  stackFile("owned-1.13"),
  "--then",
  stackFile("owned-1.35"),
  "--updates",
  "2",
];

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
