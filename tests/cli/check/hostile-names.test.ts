import * as fs from "node:fs";
import * as path from "node:path";
import { check } from "../../../cli/check/verb";
import { acting, hostileName } from "../hostile";
import { cliStand, runCommand, runVerb } from "../stand";

const stand = cliStand();

const quoted = JSON.stringify(hostileName);

/** Findings, notes, and a file that cannot be read, each with a hostile name in it. */
function hostileFolder(): string {
  const folder = fs.mkdtempSync(path.join(stand.folder, "hostile-"));
  const name = hostileName.replaceAll("/", "");
  const files: Record<string, string> = {
    [`a${name}.yaml`]: `machine:\n  type: worker\n  ${quoted}: {}\n  kernel: {modules: [{name: nvidia}]}\n`,
    [`b${name}.yaml`]: `nvidia: [\n`,
    "extensions.yaml": `customization: {systemExtensions: {officialExtensions: [${JSON.stringify(`siderolabs/nvidia-${hostileName}`)}]}}\n`,
    "machine.yaml": `machine:\n  type: worker\n  kernel: {modules: [{name: nvidia, parameters: [${JSON.stringify(`NVreg_${hostileName}=1`)}]}]}\n  nodeLabels: {${JSON.stringify(`nvidia.com/${hostileName}`)}: x}\n`,
    "talconfig.yaml": `nodes: [{hostname: ${quoted}, ipAddress: 10.0.0.1, controlPlane: true, kernelModules: [{name: nvidia}], patches: [${JSON.stringify(`@${hostileName}`)}]}]\n`,
  };
  for (const [file, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, file), text);
  return folder;
}

test.each(["text", "github", "sarif"])(
  "names act on nothing in the format %s, nor in remarks",
  async (format) => {
    const { result, remark, status } = await runVerb("check", check, [
      hostileFolder(),
      `--format=${format}`,
    ]);
    expect(status).toBe(1);
    expect(result).toContain("forged");
    expect(remark).toContain("forged");
    expect([acting(result), acting(remark)]).toEqual([[], []]);
    if (format === "sarif") expect(acting(messagesIn(result).join("\n"))).toEqual([]);
    if (format === "github")
      for (const line of result.trim().split("\n")) expect(line).toMatch(/^::error file=/);
  },
);

interface Sarif {
  runs: { results: { message: { text: string } }[] }[];
}
const messagesIn = (sarif: string): string[] =>
  (JSON.parse(sarif) as Sarif).runs.flatMap(({ results }) =>
    results.map(({ message }) => message.text),
  );

test("a name makes no link in SARIF", async () => {
  const folder = fs.mkdtempSync(path.join(stand.folder, "link-"));
  const link = "[forged](https://example.com)";
  fs.writeFileSync(
    path.join(folder, "a.yaml"),
    `customization:\n  systemExtensions:\n    officialExtensions: ["siderolabs/nvidia-${link}"]\n`,
  );
  const { result } = await runVerb("check", check, [folder, "--format=sarif"]);
  expect(messagesIn(result).join("\n")).toContain("[forged] (https://example.com)");
});

test("JSON has the names as they are, written so that nothing acts on them", async () => {
  const { result } = await runVerb("check", check, [hostileFolder(), "--json"]);
  expect(acting(result)).toEqual([]);
  const { findings } = JSON.parse(result) as { findings: { file: string; problem: string }[] };
  expect(findings.some(({ file }) => file.endsWith(`a${hostileName}.yaml`))).toBe(true);
});

test("the command itself writes no name raw, also in an error", async () => {
  const { stdout, stderr, status } = await runCommand(stand.cli, ["check", hostileFolder()]);
  expect(status).toBe(1);
  expect([acting(stdout), acting(stderr)]).toEqual([[], []]);
  const error = await runCommand(stand.cli, ["check", `--format=${hostileName}`, "x"]);
  expect(error.status).toBe(2);
  expect(acting(error.stderr.replaceAll("\n", ""))).toEqual([]);
  const folder = fs.mkdtempSync(path.join(stand.folder, "twice-"));
  const node = { hostname: hostileName, ipAddress: "192.0.2.1" };
  fs.writeFileSync(path.join(folder, "talconfig.yaml"), JSON.stringify({ nodes: [node, node] }));
  const refused = await runCommand(stand.cli, ["import", folder]);
  expect([refused.status, acting(refused.stderr)]).toEqual([2, []]);
  expect(refused.stderr.trimEnd().split("\n")).toHaveLength(1);
});
