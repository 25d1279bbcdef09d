import * as fs from "node:fs";
import * as path from "node:path";
import { check } from "../../../cli/check/verb";
import { runVerb, makeTemporaryFolder } from "../support";

const folder = makeTemporaryFolder();
afterAll(() => fs.rmSync(folder, { recursive: true }));

const mac = "ENC[AES256_GCM,data:a,type:str]";
const patches: Record<string, string> = {
  "at the end": `machine:\n  sysctl: {}\nsops:\n    age:\n        - recipient: a\n          enc: |\n            -----\n    mac: ${mac}\n`,
  "with a carriage return on each line": `machine:\r\n  sysctl: {}\r\nsops:\r\n    mac: ${mac}\r\n    pgp: []\r\n`,
  "in a flow": `machine:\n  sysctl: {}\nsops: { mac: "${mac}" }\n`,
  "in JSON": `{"machine":\n{"sysctl": {}}, "sops": {"mac": "${mac}"}}`,
  "in each of two documents": `machine:\n  sysctl: {}\nsops:\n  mac: ${mac}\n---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\nsops:\n  mac: ${mac}\n`,
};

describe.each(Object.entries(patches))("the section that SOPS adds to a patch, %s,", (_, text) => {
  test.each(["patch alone", "patch of a talconfig"])(
    "is not reported, unlike the patch's fault: %s",
    async (argument) => {
      const patch = path.join(folder, "patch.yaml");
      fs.writeFileSync(patch, text);
      const talconfig = path.join(folder, "talconfig.yaml");
      fs.writeFileSync(
        talconfig,
        "talosVersion: v1.14.0\nnodes: [{ hostname: a, ipAddress: 192.0.2.1, controlPlane: true, patches: ['@patch.yaml'] }]\n",
      );
      const { stdout } = await runVerb("check", check, [
        argument === "patch alone" ? patch : talconfig,
        "--talos=v1.14.0",
      ]);
      expect(stdout).toMatch(/^\S+patch\.yaml:2: machine\.sysctl is not a field [^\n]+\n$/);
    },
  );
});

test("a field named sops that SOPS did not write is reported", async () => {
  const patch = path.join(folder, "other.yaml");
  fs.writeFileSync(patch, "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: a\nsops: {}\n");
  expect((await runVerb("check", check, [patch, "--talos=v1.14.0"])).stdout).toMatch(
    /HostnameConfig\.sops is not a field/,
  );
});

test("a value that SOPS encrypted under a key with dots is not reported, unlike a faulty value next to it", async () => {
  const patch = path.join(folder, "registries.yaml");
  const secret = "ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]";
  fs.writeFileSync(
    patch,
    `machine:\n  registries:\n    mirrors:\n      docker.io:\n        endpoints:\n          - ${secret}\n      registry.k8s.io:\n        endpoints:\n          - nowhere\n`,
  );
  const { stdout, stderr } = await runVerb("check", check, [patch, "--talos=v1.13.6"]);
  expect(stdout).toMatch(
    /^\S+registries\.yaml:9: machine\.registries\.mirrors\.registry\.k8s\.io\.endpoints\[0\] is not a URL[^\n]+\n$/,
  );
  // Nothing in these files concerns NVIDIA, so there is no note about its toolkit.
  const onOlderTalos = await runVerb("check", check, [patch, "--talos=v1.10.2"]);
  expect(stderr + onOlderTalos.stderr).toBe("");
});
