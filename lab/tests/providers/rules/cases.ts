import type { Properties } from "../../../providers/provider";
import { UNKNOWN } from "../../../providers/values";

/** Resource types of the two providers. */
export const types = {
  apply: "talos:machine/configurationApply:ConfigurationApply",
  secrets: "talos:machine/secrets:Secrets",
  schematic: "talos:imageFactory/schematic:Schematic",
  kubeconfig: "talos:cluster/kubeconfig:Kubeconfig",
  bootstrap: "talos:machine/bootstrap:Bootstrap",
  getConfiguration: "talos:machine/getConfiguration:getConfiguration",
  command: "command:local:Command",
};

/** Inputs that address a machine, with a client certificate that no check reads. */
export const target: Properties = {
  node: "10.0.0.1",
  clientConfiguration: { caCertificate: "Y2E=", clientCertificate: "Y3J0", clientKey: "a2V5" },
};
/** Inputs of a resource that applies a configuration. */
export const apply: Properties = { ...target, machineConfigurationInput: "machine: {}\n" };

/** Inputs that a check refuses or accepts: the rule with its file in the real provider; the type; the inputs. */
export type Case = [rule: string, type: string, inputs: Properties];
/** A refused case, with the argument that the provider names; empty if the provider has no such argument. */
type RefusedCase = [...Case, argument: string];

// Sources: terraform-provider-talos v0.11.0, pkg/talos/<resource>.go, called by pulumi-terraform-bridge v3.129.0;
// pulumi-command v1.2.1, provider/pkg/provider/local, with pulumi-go-provider v1.3.0. talos.test.ts and
// command.test.ts try the lab's providers, and installed.test.ts the real ones, if they are installed. The texts of
// refusals are not compared.

const targetWithoutNode = { ...target, node: undefined };

export const refusedCases: RefusedCase[] = [
  ["a missing node (Schema, node)", types.apply, { ...apply, node: undefined }, "node"],
  ["a missing node (Schema, node)", types.bootstrap, targetWithoutNode, "node"],
  ["a missing node (Schema, node)", types.kubeconfig, targetWithoutNode, "node"],
  [
    "null as client (ValidateConfig, IsNull)",
    types.apply,
    { ...apply, clientConfiguration: null },
    "clientConfiguration",
  ],
  [
    "null as client (ValidateConfig, IsNull)",
    types.bootstrap,
    { ...target, clientConfiguration: null },
    "clientConfiguration",
  ],
  [
    "a missing client (Schema, client_configuration)",
    types.kubeconfig,
    { node: "10.0.0.1" },
    "clientConfiguration",
  ],
  ["a missing configuration (ValidateConfig)", types.apply, target, "machineConfigurationInput"],
  [
    "an unknown mode (Schema, apply_mode: OneOf)",
    types.apply,
    { ...apply, applyMode: "try" },
    "applyMode",
  ],
  [
    "patches that are no list (pkg/convert/list.go)",
    types.apply,
    { ...apply, configPatches: "machine: {}" },
    "configPatches",
  ],
  [
    "a patch that is no text (pkg/convert/string.go)",
    types.apply,
    { ...apply, configPatches: [{ machine: {} }] },
    "configPatches",
  ],
  [
    "a timeout that is no duration of Go (terraform-plugin-framework-timeouts v0.7.0)",
    types.bootstrap,
    { ...target, timeouts: { create: "10 minutes" } },
    "timeouts",
  ],
  [
    "an invalid Talos release (Schema, talosVersionValid)",
    types.secrets,
    { talosVersion: "latest" },
    "talosVersion",
  ],
  [
    "an unknown argument (infer/internal/ende/ende.go, Decode)",
    types.command,
    { creates: "ls" },
    "",
  ],
  ["a number instead of a text (ende.go: mapper)", types.command, { create: 1 }, "create"],
  [
    "a text instead of a list (ende.go: mapper)",
    types.command,
    { interpreter: "bash -c" },
    "interpreter",
  ],
  [
    "a number in a list of texts (base.go: *[]string)",
    types.command,
    { interpreter: ["sh", 1] },
    "interpreter",
  ],
  [
    "a number in the environment (base.go: map[string]string)",
    types.command,
    { environment: { A: 1 } },
    "environment",
  ],
  [
    "a text instead of a boolean (base.go: *bool)",
    types.command,
    { addPreviousOutputInEnv: "no" },
    "addPreviousOutputInEnv",
  ],
];

export const acceptedCases: Case[] = [
  [
    "known and unknown values",
    types.apply,
    { ...apply, applyMode: UNKNOWN, configPatches: ["a", null, 1], timeouts: { create: UNKNOWN } },
  ],
  [
    "unknown values",
    types.apply,
    { node: UNKNOWN, clientConfiguration: UNKNOWN, machineConfigurationInput: UNKNOWN },
  ],
  ["an argument that is ignored (pkg/convert/object.go)", types.apply, { ...apply, more: "x" }],
  ["a timeout", types.bootstrap, { ...target, timeouts: { create: "30m" } }],
  ["a machine", types.kubeconfig, target],
  ["a minor release", types.secrets, { talosVersion: "1.12" }],
  ["a release", types.secrets, { talosVersion: "v1.13.9" }],
  ["no arguments", types.schematic, {}],
  ["an unknown value of logging (logging.go)", types.command, { logging: "all" }],
  ["null for an optional pointer (base.go)", types.command, { create: null }],
  ["triggers of any type (base.go)", types.command, { triggers: [1, "a", { b: 2 }] }],
  ["empty values", types.command, { interpreter: [], environment: {}, stdin: "" }],
  ["no arguments", types.command, {}],
];

/** Whether a check accepts the inputs. */
export const isAccepted = (check: Promise<unknown[]>): Promise<boolean> =>
  check.then(
    (failures) => failures.length === 0,
    () => false,
  );

/** The cases about one provider. */
export const casesOf = <AnyCase extends Case | RefusedCase>(
  provider: string,
  cases: readonly AnyCase[],
): AnyCase[] => cases.filter(([, type]) => type.startsWith(`${provider}:`));
