import * as fs from "node:fs";
import * as path from "node:path";
import { askFactory } from "../../../components/lookups/release-facts";
import { judge, renderFinding } from "../../../components/recipe";
import { clusterOf, readStackFile, repository } from "../../../stacks/stack-file";
import { startPreviewTestBed, type PreviewTestBed } from "../runs/preview-test-bed";
import { stacks } from "../../support/stacks";

// A user's first `pulumi preview`: by the real CLI, in a checkout. Each program runs in a process of its own by
// the SDK's cmd/run, which checks its types. One cluster serves all of them, since a preview changes nothing.

/** tests/e2e/stacks.test.ts previews and installs this stack with the real host (`hostAnnouncements`). */
const testedElsewhere = "aarhus-h100";

let testBed: PreviewTestBed;
beforeAll(async () => {
  testBed = await startPreviewTestBed();
});
afterAll(() => testBed?.close());

/** Errors and warnings, without the CLI's message on where it found the language host. */
const errorsAndWarnings = (diagnostics: readonly string[]): string[] =>
  diagnostics.filter(
    (line) =>
      /^(error|warning|mandatory)/.test(line) &&
      !line.includes("using pulumi-language-nodejs from $PATH"),
  );

test.each(stacks.filter((name) => name !== testedElsewhere))(
  "the first preview of %s shows the machines and the GPU provider's release, gives only the stack's warnings, and violates no policy",
  async (name) => {
    const { result, diagnostics, creates, policyPacks } = await testBed.previewStack(name);
    const spec = clusterOf(readStackFile(name));
    const facts = await askFactory(spec, { TALOS_GPU_FACTORY: testBed.factory }); // as the program does
    const { plan, remarks } = judge({ ...spec, ...facts });
    const warnings = remarks
      .filter(({ severity }) => severity === "warning")
      .map((finding) => `warning ${name} (talos-gpu:index:GpuCluster): ${renderFinding(finding)}`);
    expect(errorsAndWarnings(diagnostics)).toEqual(warnings);
    expect(result).toBe("succeeded");
    expect(policyPacks).toEqual(["talos-gpu"]);
    for (const machine of plan!.machines)
      expect(creates).toContain(`talos-gpu:index:GpuMachine ${name}-${machine.name}`);
    expect(creates).toContainEqual(expect.stringMatching(/^kubernetes:helm.sh\/v3:Release /));
  },
);

test("the preview of a stack whose cluster is down shows the machine, and says once that no server answers", async () => {
  const { result, diagnostics, creates } = await testBed.previewStack(
    path.join(__dirname, "../stacks/Pulumi.rtx5070ti-1.13.yaml"),
    { clusterIsDown: true },
  );
  expect(result).toBe("succeeded");
  const warnings = errorsAndWarnings(diagnostics).filter((line) =>
    line.includes("the cluster did not answer"),
  );
  expect(warnings).toEqual([
    expect.stringMatching(
      /^warning: kubeconfig: .*refuses the connection.*; this preview cannot show/,
    ),
  ]);
  expect(creates).toContain("talos-gpu:index:GpuMachine rtx5070ti-1.13-k8s-worker4");
});

test("the preview of examples/compose shows the stack's and the user's resources", async () => {
  const { result, diagnostics, creates } = await testBed.previewProject({
    folder: "examples/compose",
    name: "gpu-compose",
    stack: "dev",
  });
  // The API server warns about the user's own Deployment, which is not `restricted`.
  const errors = errorsAndWarnings(diagnostics).filter((line) => line.startsWith("error"));
  expect(errors).toEqual([]);
  expect(result).toBe("succeeded");
  for (const resource of [
    "talos-gpu:index:GpuMachine lab-gpu-1",
    "talos-gpu:index:Ollama chat",
    "kubernetes:apps/v1:Deployment training",
  ])
    expect(creates).toContain(resource);
});

test("a violated policy fails the preview, and names the resource and the remedy", async () => {
  const folder = "examples/floating";
  const composeFolder = path.join(testBed.checkout, "examples/compose");
  const floatingFolder = path.join(testBed.checkout, folder);
  fs.cpSync(composeFolder, floatingFolder, { recursive: true });
  const program = path.join(floatingFolder, "index.ts");
  fs.writeFileSync(
    program,
    fs.readFileSync(program, "utf8").replace("pytorch:25.01-py3", "pytorch:latest"),
  );
  const { result, diagnostics } = await testBed.previewProject({
    folder,
    name: "gpu-compose",
    stack: "floating",
  });
  expect(result).toBe("failed");
  const errors = errorsAndWarnings(diagnostics).filter((line) => !line.startsWith("warning"));
  expect(errors).toEqual([
    "error: preview failed",
    expect.stringMatching(
      /^mandatory policy images-by-release training \(kubernetes:apps\/v1:Deployment\): [\s\S]*has the tag latest.*name a release or a digest/,
    ),
  ]);
});

test("for a refused stack, the program registers no resource, and the preview needs few seconds of CPU time", async () => {
  const { result, creates, cpuSeconds } = await testBed.previewStack(
    path.join(__dirname, "../stacks/Pulumi.aarhus-h100-mixed.yaml"),
  );
  expect({ result, creates }).toEqual({
    result: "failed",
    creates: ["pulumi:pulumi:Stack talos-gpu-aarhus-h100-mixed"],
  });
  // CPU time of the CLI, its host, the program and the policy pack: 4 s, mostly on two cores at once. cmd/run
  // alone once took 17 s, since it formatted the error in colour.
  expect(cpuSeconds).toBeLessThan(6);
  expect(cpuSeconds).toBeGreaterThan(1);
});

test("the CLI's get-schema prints the content of sdk/schema.json", async () => {
  const printed = comparable(
    JSON.parse(await testBed.runPulumi("package", "get-schema", "./components")),
  );
  const published = comparable(
    JSON.parse(fs.readFileSync(path.join(repository, "sdk/schema.json"), "utf8")),
  );
  expect(printed).toEqual(published);
});

/** A schema without the parts that the CLI drops when it prints one: `optional: true`, and empty values. */
function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(([key, inner]) => !(key === "optional" && inner === true))
    .map(([key, inner]) => [key, comparable(inner)] as const)
    .filter(
      ([, inner]) => typeof inner !== "object" || inner === null || Object.keys(inner).length > 0,
    );
  return Object.fromEntries(entries);
}
