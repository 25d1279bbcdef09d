import * as path from "node:path";
import { assertOk, expectLinesInOrder, runLab } from "./support/labs";

test("a new Kubernetes release of a cluster that the stack made also reaches kube-proxy and CoreDNS, without a reboot", async () => {
  const { status, report, lines } = await runLab([
    "--stack",
    path.join(__dirname, "stacks/Pulumi.modern-1.35.yaml"),
    "--preview",
    "--then",
    "modern",
    "--updates",
    "2",
  ]);
  assertOk({ status, report, lines });
  const [firstUpdate, secondUpdate, updateAfterEdit, unchangedUpdate] = report.updates;
  expect(firstUpdate).toMatchObject({ result: "succeeded" });
  expect(secondUpdate).toMatchObject({ machineRequests: 0 });
  expect(updateAfterEdit).toMatchObject({
    result: "succeeded",
    changes: { create: 0, replace: 0, delete: 0 },
  });
  expect(unchangedUpdate).toMatchObject({ machineRequests: 0 });
  expect(report.machines["control"]!.reboots).toBe(1);
  expect(report.machines["gpu"]!.reboots).toBe(1);
  expect(report.left).toEqual([]);
  const edit = lines.findIndex((line) => line.includes("v1.35.2 → v1.36.0"));
  expect(lines.slice(0, edit).join("\n")).not.toContain("addons: ");
  expectLinesInOrder(lines, [
    "control: images: registry\\.k8s\\.io/kube-apiserver:v1\\.36\\.0",
    "control: addons: kube-proxy v1\\.35\\.2 → v1\\.36\\.0, up to 10m",
  ]);
});
