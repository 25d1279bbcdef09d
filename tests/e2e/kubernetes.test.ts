import * as path from "node:path";
import { assertOk, expectLinesInOrder, runLab } from "./support/labs";

const stackFile = (name: string): string => path.join(__dirname, "stacks", `Pulumi.${name}.yaml`);

test("a cluster that the stack made gets Talos over two minors by one edit, and then a new Kubernetes release without a reboot", async () => {
  const { status, report, lines } = await runLab([
    "--stack",
    stackFile("owned-1.11"),
    "--preview",
    "--then",
    stackFile("owned-1.13"),
    "--then",
    stackFile("owned-1.35"),
    "--updates",
    "2",
  ]);
  assertOk({ status, report, lines });
  expect(report.updates.map(({ result }) => result)).toEqual(Array(6).fill("succeeded"));
  const [, unchanged, ofTalos, unchangedTalos, ofKubernetes, unchangedKubernetes] = report.updates;
  for (const update of [unchanged, unchangedTalos, unchangedKubernetes])
    expect(update).toMatchObject({ machineRequests: 0 });

  // Pulumi deletes the former GPU provider before the cluster's Kubernetes provider is registered in this update.
  expectLinesInOrder(lines, [
    "preview: delete-replaced \\S+-release",
    "delete-replaced \\S+-release",
    "control: pull: installer \\S+:v1\\.12\\.12, up to",
    "gpu: pull: installer \\S+:v1\\.13\\.9, up to",
    "create-replacement \\S+-release",
  ]);
  expect(ofTalos!.reboots).toEqual({ control: 2, gpu: 2 });

  expect(ofKubernetes).toMatchObject({
    changes: { create: 0, replace: 0, delete: 0 },
    reboots: { control: 0, gpu: 0 },
  });
  const edit = lines.findIndex((line) => line.includes("v1.34.1 → v1.35.2"));
  expect(lines.slice(0, edit).join("\n")).not.toContain("addons: ");
  expectLinesInOrder(lines, [
    "control: images: registry\\.k8s\\.io/kube-apiserver:v1\\.35\\.2",
    "control: addons: kube-proxy v1\\.34\\.1 → v1\\.35\\.2, up to 10m",
  ]);
  for (const machine of ["control", "gpu"])
    expect(report.machines[machine]).toMatchObject({ talosVersion: "v1.13.9", reboots: 3 });
  expect(report.left).toEqual([]);
});
