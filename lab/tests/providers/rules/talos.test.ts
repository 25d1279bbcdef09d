import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { machineSecretsOf } from "../../../../components/credentials/texts";
import { machineSecrets } from "../../../../tests/support/talos";
import type { Properties } from "../../../providers/provider";
import { TalosProvider } from "../../../providers/talos";
import { reveal } from "../../../providers/values";
import { callOf } from "./call";
import { apply, of, refused, taken, target, types } from "./cases";

// The lab's provider must refuse what the real Talos provider refuses. Unless another source is given, the source is
// terraform-provider-talos v0.11.0, pkg/talos/<resource>.go, called by pulumi-terraform-bridge v3.129.0.

const dir = mkdtempSync(path.join(tmpdir(), "talos-gpu-rules-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A stand-in for talosctl that writes down its arguments, and merges nothing. */
const talosctl = path.join(dir, "talosctl");
const log = path.join(dir, "calls");
const answer = (dryRun = "echo"): void => {
  const script = `case "$*" in *--dry-run*) ${dryRun};; *) echo "machine: {}";; esac`;
  writeFileSync(talosctl, `#!/bin/sh\necho "$*" >> ${log}\n${script}\n`, { mode: 0o755 });
};
answer();
beforeEach(() => rmSync(log, { force: true }));
const calls = (): string[] => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []);

const provider = new TalosProvider({ talosctl, factory: "http://127.0.0.1:1", tempDir: dir });
const secretsOf = (values: Properties): string[] =>
  reveal(values).secrets.map((mark) => mark.join("."));

test.each(of("talos", refused))("refuses %s of %s: %j", (_rule, type, inputs, argument) => {
  const refusedArguments = provider
    .check(callOf(type, inputs))
    .failures.map(({ property }) => property.split(".")[0]);
  expect(new Set(refusedArguments)).toEqual(new Set([argument]));
});

test.each(of("talos", taken))("accepts %s of %s: %j", (_rule, type, inputs) => {
  expect(provider.check(callOf(type, inputs)).failures).toEqual([]);
});

test("a machine configuration is always secret (MarkSchemaSecrets)", () => {
  const { inputs } = provider.check(callOf(types.apply, apply));
  expect(secretsOf(inputs)).toEqual(["machineConfigurationInput"]);
});

test.each([
  ["v1.13.9", "v1.13.2", true],
  ["v1.13.9", "1.12", true],
  ["v1.12.6", "v1.13.9", false],
  ["v1.12", "1.12", false],
])(
  "secrets of Talos %s are replaced for Talos %s: %s (talosMachineFeaturesVersionPlanModifier)",
  (was, is, anew) => {
    const diff = (ignoreChanges: string[]) => {
      const known = { id: "id", oldInputs: { talosVersion: was }, ignoreChanges };
      return provider.diff(callOf(types.secrets, { talosVersion: is }, known));
    };
    expect(diff([])).toEqual({
      detailed: { talosVersion: "update" },
      replaces: anew ? ["talosVersion"] : [],
    });
    // The package ignores changes of `talosVersion`: otherwise a stack that returns to an older release would lose
    // its cluster.
    expect(diff(["talosVersion"])).toEqual({ detailed: {}, replaces: [] });
  },
);

// pkg/tfbridge/rawstate.go, turnaroundCheck; pulumi-talos#208. Each resource has limits of its own (Schema, timeouts.Opts).
test.each([
  [types.apply, { ...apply, timeouts: { create: "1m" } }, false],
  [types.apply, { ...apply, timeouts: { create: "1m", update: "1m", delete: null } }, false],
  [types.apply, { ...apply, timeouts: { create: "1m", update: "1m", delete: "1m" } }, true],
  [types.apply, { ...apply, timeouts: {} }, true],
  [types.bootstrap, { ...target, timeouts: { create: "1m" } }, true],
])("%s with the inputs %j is created: %s", async (type, inputs, right) => {
  const made = provider.make(callOf(type, inputs));
  if (right) await made;
  else await expect(made).rejects.toThrow("recovered raw state does not byte-for-byte match");
});

test("a kubeconfig stays the same after changes of other inputs (Update)", async () => {
  const oldOutputs = {
    ...target,
    kubeconfigRaw: "kept",
    kubernetesClientConfiguration: { clientKey: "key" },
  };
  const moved = callOf(
    types.kubeconfig,
    { ...target, node: "10.0.0.2" },
    { id: "one", oldOutputs },
  );
  const { outputs } = await provider.make(moved);
  expect(reveal(outputs).plain).toMatchObject({ node: "10.0.0.2", kubeconfigRaw: "kept" });
  const secrets = ["kubeconfigRaw", "kubernetesClientConfiguration.clientKey"];
  expect(secretsOf(outputs)).toEqual(expect.arrayContaining(secrets));
  expect(calls()).toEqual([]);
});

test("a null patch is skipped (configPatchesAsStrings)", async () => {
  await provider.make(
    callOf(types.apply, { ...apply, configPatches: [null, "machine: {a: 1}\n"] }),
  );
  expect(calls()[0]!.match(/--patch/g)).toHaveLength(1);
});

// talos v1.12.6, internal/app/maintenance/server.go, and v1.13.0, v1alpha1_server.go: ApplyConfiguration.
test.each([
  ["that it reboots", "a machine", "echo Applied configuration with a reboot", "staged"],
  ["that it does not reboot", "a machine", "echo Applied configuration without a reboot", "auto"],
  [
    "of Talos 1.12",
    "maintenance",
    "echo Node is running in maintenance mode and does not have a config yet",
    "staged",
  ],
  ["of Talos 1.13", "maintenance", "echo Applied configuration without a reboot", "auto"],
  ["that is an error", "a machine", "exit 1", "auto"],
])(
  "with staged_if_needing_reboot, the answer %s from %s (%s) gives the mode %s (dryRunNeedsReboot)",
  async (_, from, dryRun, mode) => {
    const lines: string[] = [];
    const maintenance = from === "maintenance" ? { "10.0.0.1": "127.0.0.1:99" } : {};
    answer(dryRun);
    const inputs = { ...apply, applyMode: "staged_if_needing_reboot" };
    const asked = new TalosProvider({
      talosctl,
      factory: "http://127.0.0.1:1",
      tempDir: dir,
      maintenance,
    });
    const { outputs } = await asked.make(
      callOf(types.apply, inputs, { log: (_level, line) => void lines.push(line) }),
    );
    answer();
    expect(outputs).toMatchObject({ resolvedApplyMode: mode });
    const sent = calls().filter((line) => line.startsWith("apply-config"));
    expect(sent.map((line) => line.includes("--insecure"))).toEqual(
      Array(2).fill(from === "maintenance"),
    );
    expect(sent[1]).toContain(`--mode ${mode}`);
    expect(lines).toHaveLength(dryRun === "exit 1" ? 1 : 0);
  },
);

test.each([
  ["clusterName", { clusterName: "" }],
  ["clusterEndpoint", { clusterEndpoint: undefined }],
  ["machineSecrets", { machineSecrets: undefined }],
  ["machineType", { machineType: "master" }],
])(
  "no configuration is generated without a valid %s (talos_machine_configuration_data_source.go, Schema)",
  async (name, more) => {
    const args = {
      clusterName: "c",
      clusterEndpoint: "https://c:6443",
      machineSecrets: {},
      machineType: "worker",
    };
    const asked = provider.invoke(
      types.getConfiguration,
      { ...args, ...more },
      new AbortController().signal,
    );
    await expect(asked).rejects.toThrow(name);
  },
);

// pulumi-talos v0.8.1 has Talos' machinery v1.13.0, which generates its own form for later releases as well.
test.each([
  ["v1.12.6", "v1.12.6"],
  ["v1.14.1", "v1.13"],
])(
  "the configuration for the contract %s is generated in the form of %s",
  async (talosVersion, form) => {
    const args = {
      clusterName: "c",
      clusterEndpoint: "https://c:6443",
      machineSecrets: machineSecretsOf(machineSecrets),
      machineType: "worker",
      talosVersion,
    };
    await provider.invoke(types.getConfiguration, args, new AbortController().signal);
    expect(calls()).toEqual([expect.stringContaining(`--talos-version ${form} `)]);
  },
);
