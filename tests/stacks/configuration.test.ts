import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { renderFinding } from "../../components/recipe";
import { readConfiguration } from "../../components/stack/configuration";
import { stackConfig, stacks } from "../support/stacks";
import { readStackFile } from "../../stacks/stack-file";

const notSecret = (): boolean => false;

test.each(stacks)("the Pulumi configuration of %s gives the same stack as its file", (stack) => {
  const { spec, credentials } = readConfiguration(
    { ...stackConfig(stack), "kubernetes:context": "other" },
    notSecret,
    {},
  );
  expect(spec).toEqual(readStackFile(stack));
  expect(credentials).toEqual({});
});

test("credentials come from the stack's secrets, or else from the files that environment variables name", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "credentials-"));
  const file = path.join(folder, "config");
  fs.writeFileSync(file, "from: a file");
  const { spec, credentials } = readConfiguration(
    { "talos-gpu:talosconfig": "from the stack" },
    (key) => key === "talos-gpu:talosconfig",
    { TALOSCONFIG: "/nowhere", KUBECONFIG: file, TALOS_SECRETS: "" },
  );
  expect(credentials).toEqual({ talosconfig: "from the stack", kubeconfig: "from: a file" });
  expect(spec).toEqual({});
  fs.rmSync(folder, { recursive: true });
});

test.each([
  [
    "a missing kubeconfig",
    { KUBECONFIG: "/nowhere/config" },
    /^kubeconfig: .*KUBECONFIG.*ENOENT.*correct KUBECONFIG/,
  ],
  [
    "several missing kubeconfigs",
    { KUBECONFIG: `/nowhere/a${path.delimiter}/nowhere/b` },
    /^kubeconfig: .*none of these files exists: \/nowhere\/a, \/nowhere\/b.*correct KUBECONFIG/,
  ],
  [
    "a missing talosconfig",
    { TALOSCONFIG: "/nowhere/t" },
    /^talosconfig: .*ENOENT: \/nowhere\/t.*correct/,
  ],
])("an environment variable that names %s is reported", (_, environment, message) => {
  const { findings } = readConfiguration({}, notSecret, environment);
  expect(findings.map(renderFinding)).toEqual([expect.stringMatching(message)]);
});

test("several files in KUBECONFIG are merged", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "credentials-"));
  const files = ["first", "second"].map((name) => {
    const cluster = { name, cluster: { server: `https://${name}` } };
    fs.writeFileSync(path.join(folder, name), JSON.stringify({ clusters: [cluster] }));
    return path.join(folder, name);
  });
  const { credentials, findings } = readConfiguration({}, notSecret, {
    KUBECONFIG: files.join(path.delimiter),
  });
  expect(findings).toEqual([]);
  expect(credentials.kubeconfig).toMatch(/https:\/\/first[^]*https:\/\/second/);
  fs.rmSync(folder, { recursive: true });
});

test("a secret in a field that is no credential is refused, and not printed", () => {
  const { spec, findings } = readConfiguration(
    { "talos-gpu:patches": '["hunter2"]' },
    () => true,
    {},
  );
  expect(findings.map(renderFinding)).toEqual([
    expect.stringMatching(/^patches: is a secret; .*; set the field without `--secret`, and keep/),
  ]);
  expect(JSON.stringify([spec, findings])).not.toContain("hunter2");
});

test.each(["talosconfig", "machineSecrets", "kubeconfig", "omniServiceAccountKey"])(
  "%s in plain text is refused, and not printed",
  (key) => {
    const { findings } = readConfiguration({ [`talos-gpu:${key}`]: "hunter2" }, notSecret, {});
    expect(findings.map(renderFinding)).toEqual([
      expect.stringMatching(
        new RegExp(`^${key}: is in plain text .*; .*; .*--secret talos-gpu:${key}`),
      ),
    ]);
    expect(JSON.stringify(findings)).not.toContain("hunter2");
  },
);

test("Omni's address may be in plain text", () => {
  expect(
    readConfiguration({ "talos-gpu:omniEndpoint": "https://omni" }, notSecret, {}).findings,
  ).toEqual([]);
});

test("invalid JSON stays a text, and the key __proto__ stays data", () => {
  const { spec } = readConfiguration(
    { "talos-gpu:machines": "{half", "talos-gpu:__proto__": "{}" },
    notSecret,
    {},
  );
  expect(Object.entries(spec)).toEqual([
    ["machines", "{half"],
    ["__proto__", {}],
  ]);
});
