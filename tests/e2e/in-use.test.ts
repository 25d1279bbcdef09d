import * as path from "node:path";
import { assertOk, runLab } from "./support/labs";
import { availableMachineKind } from "./support/real-node";

test("if all slices are in use, the update succeeds without a smoke test, and lists the pods with slices", async () => {
  const [fourSlices, twoSlices] = ["busy-4", "busy-2"].map((stack) =>
    path.join(__dirname, `stacks/Pulumi.${stack}.yaml`),
  );
  const busyManifest = path.join(__dirname, "manifests/busy.yaml");
  const { status, report, lines } = await runLab([
    "--machines",
    availableMachineKind(),
    "--stack",
    fourSlices!,
    "--then",
    twoSlices!,
    "--manifest",
    busyManifest,
  ]);
  assertOk({ status, report, lines });
  expect(report.updates.map(({ result }) => result)).toEqual(["succeeded", "succeeded"]);
  const messages = lines.filter((line) =>
    line.includes("not tested: all 2 units of nvidia.com/gpu are in use by"),
  );
  expect(messages).not.toEqual([]);
  for (const pod of [1, 2, 3, 4]) expect(messages[0]).toContain(`default/busy-${pod} (1)`);
});
