import * as fs from "node:fs";
import * as path from "node:path";
import { unsafeParts, hostileName } from "./hostile";
import { setupCli, runCommand } from "./support";

const testBed = setupCli();

const quoted = JSON.stringify(hostileName);

function writeFile(name: string, text: string): string {
  const folder = fs.mkdtempSync(path.join(testBed.folder, "hostile-"));
  fs.writeFileSync(path.join(folder, name), text);
  return path.join(folder, name);
}

const stackFile = (): string =>
  writeFile(
    "Pulumi.home.yaml",
    `config:
  talos-gpu:talosVersion: v1.12.6
  talos-gpu:machines:
    ${quoted}: {address: 10.0.0.1, role: worker, configuration: adopted, gpus: [{model: ${quoted}}], patches: [${quoted}]}
  talos-gpu:devicePlugin: {version: 0.17.4, values: {${quoted}: ${quoted}}}
`,
  );
const talconfig = (): string =>
  writeFile(
    "talconfig.yaml",
    `clusterName: ${quoted}
talosVersion: v1.12.6
nodes:
  - {hostname: ${quoted}, ipAddress: 10.0.0.1, controlPlane: true, kernelModules: [{name: nvidia}], nodeLabels: {${quoted}: x}, patches: ["@x${hostileName.replaceAll(/[^a-z]/g, "")}"]}
  - {hostname: ${JSON.stringify(`b${hostileName}`)}, ipAddress: 10.0.0.2, controlPlane: false}
`,
  );
const kubeconfig = (): string =>
  writeFile(
    "kubeconfig",
    `{current-context: ${quoted}, contexts: [{name: ${quoted}, context: {cluster: ${quoted}, user: ${quoted}}}], clusters: [{name: ${quoted}, cluster: {server: ${JSON.stringify(`nowhere${hostileName}`)}}}], users: [{name: ${quoted}, user: {}}]}`,
  );

/** Arguments of every verb, with a hostile file. */
const argumentsByVerb: Record<string, () => string[]> = {
  check: () => ["check", talconfig()],
  discover: () => ["discover", "--kubeconfig", kubeconfig(), "--out", "-"],
  plan: () => ["plan", "--stack", stackFile()],
  doctor: () => ["doctor", "--kubeconfig", kubeconfig(), "--stack", stackFile()],
  reboot: () => ["reboot", "gpu-1", "--stack", stackFile()],
  "bug-report": () => [
    "bug-report",
    "--kubeconfig",
    kubeconfig(),
    "--out",
    path.join(path.dirname(kubeconfig()), "report"),
  ],
  import: () => ["import", talconfig(), "--out", "-"],
  "import-talhelper": () => ["import-talhelper", talconfig(), "--out", "-"],
};

test("this file tests every verb with a hostile file", async () => {
  const { stdout } = await runCommand(testBed.cli, ["--help"]);
  const verbs = [...stdout.matchAll(/^ {2}([a-z][a-z-]*) {2}/gm)].map(([, verb]) => verb!);
  expect(Object.keys(argumentsByVerb).sort()).toEqual(verbs.sort());
});

test.each(
  Object.keys(argumentsByVerb).flatMap((verb) => [
    [verb, "--no-color"],
    [verb, "--json"],
  ]),
)(
  "%s %s prints a hostile file's text without effect on a terminal or a workflow",
  async (verb, ...options) => {
    const { stdout, stderr, status } = await runCommand(testBed.cli, [
      ...argumentsByVerb[verb]!(),
      ...options,
    ]);
    expect([1, 2]).toContain(status);
    expect(stdout + stderr).toContain("forged");
    expect(unsafeParts(stdout)).toEqual([]);
    expect(unsafeParts(stderr)).toEqual([]);
  },
);
