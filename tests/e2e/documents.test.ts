import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { assertOk, expectReady, runLab } from "./support/labs";

const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-documents-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));

const stackFile = path.join(__dirname, "stacks/Pulumi.next-1.14.yaml");

/** Writes the stack of Talos 1.14 with these documents, which are new in this release; returns the file's path. */
function writeStackWith(name: string, documents: object[]): string {
  const stack = parse(fs.readFileSync(stackFile, "utf8")) as { config: Record<string, unknown> };
  stack.config["talos-gpu:patches"] = documents.map((document) =>
    stringify({ apiVersion: "v1alpha1", ...document }),
  );
  const file = path.join(folder, `Pulumi.${name}.yaml`);
  fs.writeFileSync(file, stringify(stack));
  return file;
}

const documentsWithoutReboot = [
  { kind: "SysctlConfig", params: { "vm.swappiness": "10" } },
  { kind: "CRICustomizationConfig", name: "zz", content: '[debug]\nlevel = "info"\n' },
];

test("on Talos 1.14, a change of sysctls or containerd's part needs no reboot, and a change of workload isolation needs one", async () => {
  const { status, report, lines } = await runLab([
    "--stack",
    stackFile,
    "--then",
    writeStackWith("live", documentsWithoutReboot),
    "--then",
    writeStackWith("isolated", [
      ...documentsWithoutReboot,
      { kind: "SecurityProfileConfig", workloadIsolation: true },
    ]),
    "--updates",
    "2",
  ]);
  assertOk({ status, report, lines });
  const states = [...report.beforeEdits, report];
  expect(states.map(({ machines }) => machines["gpu"]!.reboots)).toEqual([1, 1, 2]);
  for (const state of states) expectReady(state, ["gpu-pods/nvidia-test", "ollama/ollama"]);
  expect(report.updates.map(({ result }) => result)).toEqual(Array(6).fill("succeeded"));
  for (const unchanged of [1, 3, 5])
    expect(report.updates[unchanged]).toMatchObject({
      machineRequests: 0,
      changes: { create: 0, update: 0, replace: 0, delete: 0 },
    });
  expect(report.previews).toHaveLength(2);
  // The preview of each edit announces the same changes, and calls no machine.
  for (const [index, preview] of report.previews.entries())
    expect(preview).toMatchObject({
      result: "succeeded",
      machineRequests: 0,
      changes: report.updates[2 * index + 2]!.changes,
    });
});
