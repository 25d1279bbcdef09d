import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { machineSecretsOf } from "../../../../components/credentials/texts";
import { machineSecrets } from "../../../../tests/support/talos";
import type { Properties } from "../../../providers/provider";
import { TalosProvider } from "../../../providers/talos";
import { reveal } from "../../../providers/values";
import { callOf } from "./call";
import { apply, casesOf, refusedCases, acceptedCases, target, types } from "./cases";

// The lab's provider must refuse what the real Talos provider refuses. Unless another source is given, the source is
// terraform-provider-talos v0.11.0, pkg/talos/<resource>.go, called by pulumi-terraform-bridge v3.129.0.

const dir = mkdtempSync(path.join(tmpdir(), "talos-gpu-rules-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** A stand-in for talosctl that writes down its arguments, and merges nothing. */
const talosctl = path.join(dir, "talosctl");
const callLog = path.join(dir, "calls");
const writeTalosctl = (dryRun = "echo"): void => {
  const script = `case "$*" in *--dry-run*) ${dryRun};; *) echo "machine: {}";; esac`;
  writeFileSync(talosctl, `#!/bin/sh\necho "$*" >> ${callLog}\n${script}\n`, { mode: 0o755 });
};
writeTalosctl();
beforeEach(() => rmSync(callLog, { force: true }));
const calls = (): string[] =>
  existsSync(callLog) ? readFileSync(callLog, "utf8").trim().split("\n") : [];

const provider = new TalosProvider({ talosctl, factory: "http://127.0.0.1:1", tempDir: dir });
const secretsOf = (values: Properties): string[] =>
  reveal(values).secrets.map((mark) => mark.join("."));

test.each(casesOf("talos", refusedCases))(
  "the lab's Talos provider refuses %s of %s: %j",
  (_rule, type, inputs, argument) => {
    const refusedArguments = provider
      .check(callOf(type, inputs))
      .failures.map(({ property }) => property.split(".")[0]);
    expect(new Set(refusedArguments)).toEqual(new Set([argument]));
  },
);

test.each(casesOf("talos", acceptedCases))(
  "the lab's Talos provider accepts %s of %s: %j",
  (_rule, type, inputs) => {
    expect(provider.check(callOf(type, inputs)).failures).toEqual([]);
  },
);

test("a machine configuration is always secret (MarkSchemaSecrets)", () => {
  const { inputs } = provider.check(callOf(types.apply, apply));
  expect(secretsOf(inputs)).toEqual(["machineConfigurationInput"]);
});

const diffOfSecrets = (oldVersion: string, newVersion: string, ignoreChanges: string[]) => {
  const existing = { id: "id", oldInputs: { talosVersion: oldVersion }, ignoreChanges };
  return provider.diff(callOf(types.secrets, { talosVersion: newVersion }, existing));
};

test.each([
  ["v1.13.9", "v1.13.2", true],
  ["v1.13.9", "1.12", true],
  ["v1.12.6", "v1.13.9", false],
  ["v1.12", "1.12", false],
])(
  "secrets of Talos %s are replaced for Talos %s: %s (talosMachineFeaturesVersionPlanModifier)",
  (oldVersion, newVersion, isReplaced) =>
    expect(diffOfSecrets(oldVersion, newVersion, [])).toEqual({
      detailed: { talosVersion: "update" },
      replaces: isReplaced ? ["talosVersion"] : [],
    }),
);

// The package ignores changes of `talosVersion`: otherwise a stack that returns to an older release would lose its
// cluster.
test("with ignoreChanges for talosVersion, secrets are never replaced", () => {
  expect(diffOfSecrets("v1.13.9", "v1.13.2", ["talosVersion"])).toEqual({
    detailed: {},
    replaces: [],
  });
});

// pkg/tfbridge/rawstate.go, turnaroundCheck; pulumi-talos#208. `timeouts` must be empty, or have every limit that the resource has:
// create, update and delete for an applied configuration, only create for a bootstrap (Schema, timeouts.Opts).
test.each([
  {
    title: "an applied configuration with a timeout for create only is refused",
    type: types.apply,
    inputs: { ...apply, timeouts: { create: "1m" } },
    isCreated: false,
  },
  {
    title: "an applied configuration whose timeout for delete is null is refused",
    type: types.apply,
    inputs: { ...apply, timeouts: { create: "1m", update: "1m", delete: null } },
    isCreated: false,
  },
  {
    title: "an applied configuration with all three timeouts is created",
    type: types.apply,
    inputs: { ...apply, timeouts: { create: "1m", update: "1m", delete: "1m" } },
    isCreated: true,
  },
  {
    title: "an applied configuration with empty timeouts is created",
    type: types.apply,
    inputs: { ...apply, timeouts: {} },
    isCreated: true,
  },
  {
    title: "a bootstrap with its only timeout, for create, is created",
    type: types.bootstrap,
    inputs: { ...target, timeouts: { create: "1m" } },
    isCreated: true,
  },
])("$title", async ({ type, inputs, isCreated }) => {
  const creation = provider.make(callOf(type, inputs));
  if (isCreated) await creation;
  else await expect(creation).rejects.toThrow("recovered raw state does not byte-for-byte match");
});

test("a kubeconfig stays the same after changes of other inputs (Update)", async () => {
  const oldOutputs = {
    ...target,
    kubeconfigRaw: "kept",
    kubernetesClientConfiguration: { clientKey: "key" },
  };
  const call = callOf(types.kubeconfig, { ...target, node: "10.0.0.2" }, { id: "one", oldOutputs });
  const { outputs } = await provider.make(call);
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
  {
    machine: "a machine that would reboot",
    inMaintenance: false,
    dryRun: "echo Applied configuration with a reboot",
    mode: "staged",
  },
  {
    machine: "a machine that would not reboot",
    inMaintenance: false,
    dryRun: "echo Applied configuration without a reboot",
    mode: "auto",
  },
  {
    machine: "Talos 1.12 in maintenance mode",
    inMaintenance: true,
    dryRun: "echo Node is running in maintenance mode and does not have a config yet",
    mode: "staged",
  },
  {
    machine: "Talos 1.13 in maintenance mode",
    inMaintenance: true,
    dryRun: "echo Applied configuration without a reboot",
    mode: "auto",
  },
  { machine: "a failing dry run", inMaintenance: false, dryRun: "exit 1", mode: "auto" },
])(
  "staged_if_needing_reboot is resolved to $mode for $machine (dryRunNeedsReboot)",
  async ({ inMaintenance, dryRun, mode }) => {
    const lines: string[] = [];
    const maintenance = inMaintenance ? { "10.0.0.1": "127.0.0.1:99" } : {};
    writeTalosctl(dryRun);
    const inputs = { ...apply, applyMode: "staged_if_needing_reboot" };
    const talosProvider = new TalosProvider({
      talosctl,
      factory: "http://127.0.0.1:1",
      tempDir: dir,
      maintenance,
    });
    const { outputs } = await talosProvider.make(
      callOf(types.apply, inputs, { log: (_level, line) => void lines.push(line) }),
    );
    writeTalosctl();
    expect(outputs).toMatchObject({ resolvedApplyMode: mode });
    const applyCalls = calls().filter((line) => line.startsWith("apply-config"));
    expect(applyCalls.map((line) => line.includes("--insecure"))).toEqual([
      inMaintenance,
      inMaintenance,
    ]);
    expect(applyCalls[1]).toContain(`--mode ${mode}`);
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
  async (name, overrides) => {
    const args = {
      clusterName: "c",
      clusterEndpoint: "https://c:6443",
      machineSecrets: {},
      machineType: "worker",
    };
    const generation = provider.invoke(
      types.getConfiguration,
      { ...args, ...overrides },
      new AbortController().signal,
    );
    await expect(generation).rejects.toThrow(name);
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
