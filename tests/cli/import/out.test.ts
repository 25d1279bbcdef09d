import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { importFiles } from "../../../cli/import/verb";
import { runVerb } from "../support";

const runImport = (...argv: string[]) => runVerb("import", importFiles, argv);

function makeRepository(): { folder: string; out: string } {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "import-"));
  const talconfig = "talosVersion: v1.13.6\nnodes: [{ hostname: gpu, ipAddress: 192.0.2.1 }]\n";
  fs.writeFileSync(path.join(folder, "talconfig.yaml"), talconfig);
  return { folder, out: path.join(folder, "Pulumi.mine.yaml") };
}

test("import reads a folder's talconfig.yaml, and prints the written file with the next command", async () => {
  const { folder, out } = makeRepository();
  const { status, remarks } = await runImport(folder, "--gpu", "gpu=RTX 3060", "--out", out);
  expect(status).toBe(0);
  expect(fs.existsSync(out)).toBe(true);
  expect(remarks.at(-1)).toBe(
    `Wrote ${out}. Next, see its effect: npx talos-gpu plan --stack ${out}`,
  );
});

test("a folder without a talconfig.yaml is reported", async () => {
  const { folder } = makeRepository();
  fs.rmSync(path.join(folder, "talconfig.yaml"));
  await expect(runImport(folder)).rejects.toThrow(/is a folder without a talconfig\.yaml/);
});

test("an existing stack is overwritten only with --force", async () => {
  const { folder, out } = makeRepository();
  fs.writeFileSync(out, "mine\n");
  await expect(runImport(folder, "--gpu", "gpu=RTX 3060", "--out", out)).rejects.toThrow(
    /already exists.*--force/,
  );
  expect(fs.readFileSync(out, "utf8")).toBe("mine\n");
  await runImport(folder, "--gpu", "gpu=RTX 3060", "--out", out, "--force");
  expect(fs.readFileSync(out, "utf8")).toContain("RTX 3060");
});

test("an unknown card is reported even if the stack file already exists", async () => {
  const { folder, out } = makeRepository();
  fs.writeFileSync(out, "mine\n");
  const remarks: string[] = [];
  const args = {
    positionals: [folder],
    values: { gpu: ["gpu=RTX 3066"], out: [out] },
    switches: new Set<string>(),
    environment: {},
  };
  const remark = (text: string): void => void remarks.push(text);
  await expect(importFiles.run(args, { result: remark, remark, colour: false })).rejects.toThrow(
    /already exists/,
  );
  expect(remarks).toContainEqual(expect.stringMatching(/"RTX 3066"/));
});
