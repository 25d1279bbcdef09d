import * as path from "node:path";
import { assertOk, runLab } from "./support/labs";
import { machinesHere } from "./support/real-node";

test("if all slices are in use, the smoke test evicts no pod, and the update lists the pods with slices", async () => {
  const [four, two] = ["busy-4", "busy-2"].map((stack) =>
    path.join(__dirname, `stacks/Pulumi.${stack}.yaml`),
  );
  const busy = path.join(__dirname, "manifests/busy.yaml");
  const { status, report, lines } = await runLab([
    "--machines",
    machinesHere(),
    "--stack",
    four!,
    "--then",
    two!,
    "--manifest",
    busy,
  ]);
  assertOk({ status, report, lines });
  expect(report.updates.map(({ result }) => result)).toEqual(["succeeded", "succeeded"]);
  const said = lines.filter((line) =>
    line.includes("not tested: all 2 units of nvidia.com/gpu are in use by"),
  );
  expect(said).not.toEqual([]);
  for (const pod of [1, 2, 3, 4]) expect(said[0]).toContain(`default/busy-${pod} (1)`);
});
