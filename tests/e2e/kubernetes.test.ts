import { expectOwnedCluster, ownedClusterOptions } from "./runs/owned-cluster";
import { expectLinesInOrder, runLab } from "./support/labs";

test("a cluster that the stack made gets Talos over two minors by one edit, and then a new Kubernetes release without a reboot", async () => {
  const run = await runLab(ownedClusterOptions());
  expectOwnedCluster(run, {
    intermediateRelease: "v1\\.12\\.12",
    firstReboots: { control: 1, gpu: 1 },
    lastMachine: "gpu",
  });
  // The Talos provider cannot install machines from an older medium.
  expectLinesInOrder(run.lines, [
    "Talos machines: control, gpu in maintenance mode, on v1\\.13\\.0",
  ]);
  for (const unchanged of [1, 3, 5])
    expect(run.report.updates[unchanged]).toMatchObject({ machineRequests: 0 });
  // The update of the Kubernetes release has asked the cluster what the release changes.
  expectLinesInOrder(run.lines, ["images: asks Kubernetes what v1\\.35\\.2 changes"]);
  expect(run.lines.join("\n")).not.toContain("not known what Kubernetes");
  const edit = run.lines.findIndex((line) => line.includes("v1.34.1 → v1.35.2"));
  expect(run.lines.slice(0, edit).join("\n")).not.toContain("addons: ");
  expectLinesInOrder(run.lines, [
    "control: addons: kube-proxy v1\\.34\\.1 → v1\\.35\\.2, up to 10m",
  ]);
});
