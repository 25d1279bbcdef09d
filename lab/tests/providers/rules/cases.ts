import type { Properties } from "../../../providers/provider";
import { UNKNOWN } from "../../../providers/values";

/** Types of the Talos provider. */
export const types = {
  apply: "talos:machine/configurationApply:ConfigurationApply",
  secrets: "talos:machine/secrets:Secrets",
  schematic: "talos:imageFactory/schematic:Schematic",
  kubeconfig: "talos:cluster/kubeconfig:Kubeconfig",
  bootstrap: "talos:machine/bootstrap:Bootstrap",
  getConfiguration: "talos:machine/getConfiguration:getConfiguration",
};

/** A client certificate that nobody checks. */
const client = { caCertificate: "Y2E=", clientCertificate: "Y3J0", clientKey: "a2V5" };

// What the real providers refuse at a check, by their sources. The lab's providers are asked in talos.test.ts and command.test.ts, and
// the real ones, wherever they are installed, in installed.test.ts.

/** Inputs of a configuration that is applied. */
export const apply: Properties = {
  node: "10.0.0.1",
  clientConfiguration: client,
  machineConfigurationInput: "machine: {}\n",
};
/** A machine that is asked for something else. */
export const target: Properties = { node: "10.0.0.1", clientConfiguration: client };

/** What a check refuses. */
export interface Refused {
  rule: string;
  /** File of the real provider that says so. */
  source: string;
  type: string;
  inputs: Properties;
  /** What is said: a failure as `property: reason`, or the text with which the check fails as a whole. */
  said: string;
}

/** What a check said, as the cases have it. */
export const told = async (checked: Promise<{ property: string; reason: string }[]>): Promise<string[]> =>
  checked.then(
    (failures) => failures.map(({ property, reason }) => `${property}: ${reason}`),
    (error: Error) => [error.message.replace(/^\d+ UNKNOWN: /, "")],
  );

/** terraform-provider-talos v0.11.0, pkg/talos/<resource>.go, called by pulumi-terraform-bridge v3.129.0. */
export const refusedByTalos: Refused[] = [
  ...(["apply", "bootstrap", "kubeconfig"] as const).map((kind) => ({
    rule: `${kind}: a node is required`,
    source: "Schema, node: Required",
    type: types[kind],
    inputs: { ...(kind === "apply" ? apply : target), node: undefined },
    said: `: Missing required property 'node': ${kind === "kubeconfig" ? "controlplane node to retrieve the kubeconfig from" : "The name of the node to bootstrap"}`,
  })),
  ...(["apply", "bootstrap"] as const).map((kind) => ({
    rule: `${kind}: null is no client`,
    source: "ValidateConfig, IsNull",
    type: types[kind],
    inputs: { ...(kind === "apply" ? apply : target), clientConfiguration: null },
    said: "Missing client configuration: Exactly one of client_configuration or client_configuration_wo must be set",
  })),
  {
    rule: "kubeconfig: a client is required",
    source: "Schema, client_configuration: Required",
    type: types.kubeconfig,
    inputs: { node: "10.0.0.1" },
    said: ": Missing required property 'clientConfiguration': The client configuration data",
  },
  {
    rule: "apply: a configuration is required",
    source: "ValidateConfig",
    type: types.apply,
    inputs: { ...apply, machineConfigurationInput: undefined },
    said: "Missing machine configuration input: Exactly one of machine_configuration_input or machine_configuration_input_wo must be set",
  },
  {
    rule: "apply: a mode of five",
    source: "Schema, apply_mode: OneOf",
    type: types.apply,
    inputs: { ...apply, applyMode: "try" },
    said: ': Invalid Attribute Value Match. Attribute apply_mode value must be one of: ["auto" "reboot" "no_reboot" "staged" "staged_if_needing_reboot"], got: "try". Examine values at \'it.applyMode\'.',
  },
  {
    rule: "apply: patches are a list of texts",
    source: "pkg/convert/list.go, string.go",
    type: types.apply,
    inputs: { ...apply, configPatches: "machine: {}" },
    said: 'cannot encode resource inputs to call ValidateResourceConfig: objectEncoder failed on property "config_patches": Expected an Array PropertyValue',
  },
  {
    rule: "apply: a patch is no mapping",
    source: "pkg/convert/string.go",
    type: types.apply,
    inputs: { ...apply, configPatches: [{ machine: {} }] },
    said: 'cannot encode resource inputs to call ValidateResourceConfig: objectEncoder failed on property "config_patches": encList failed while encoding element 0 ({map[machine:{map[]}]}): Expected a string, got: {map[machine:{map[]}]}',
  },
  {
    rule: "limits are durations of Go",
    source: "terraform-plugin-framework-timeouts v0.7.0, validators.TimeDuration",
    type: types.bootstrap,
    inputs: { ...target, timeouts: { create: "10 minutes" } },
    said: ': Invalid Attribute Value Time Duration. "10 minutes" must be a string containing a sequence of decimal numbers, each with optional fraction and a unit suffix, such as "300ms", "-1.5h" or "2h45m". Valid time units are "ns", "us" (or "µs"), "ms", "s", "m", "h".. Examine values at \'it.timeouts.create\'.',
  },
  {
    rule: "secrets: a release that Talos has",
    source: "Schema, talos_version: talosVersionValid",
    type: types.secrets,
    inputs: { talosVersion: "latest" },
    said: 'Invalid version: error parsing version "vlatest"',
  },
];

/** What the Talos provider takes. */
export const takenByTalos: [type: string, inputs: Properties][] = [
  [types.apply, { ...apply, applyMode: UNKNOWN, configPatches: ["a", null, 1], timeouts: { create: UNKNOWN } }],
  [types.apply, { node: UNKNOWN, clientConfiguration: UNKNOWN, machineConfigurationInput: UNKNOWN }],
  [types.apply, { ...apply, more: "passed over (pkg/convert/object.go)" }],
  [types.bootstrap, { ...target, timeouts: { create: "30m" } }],
  [types.kubeconfig, target],
  [types.secrets, { talosVersion: "1.12" }],
  [types.secrets, { talosVersion: "v1.13.9" }],
  [types.schematic, {}],
];

/** Type of a command. */
export const commandType = "command:local:Command";

/** pulumi-command v1.2.1, provider/pkg/provider/local; pulumi-go-provider v1.3.0, infer: rule, source, inputs, and what is said. */
export const refusedByCommand: [rule: string, source: string, inputs: Properties, said: string][] = [
  [
    "an argument that it does not have",
    "infer/internal/ende/ende.go, Decode",
    { creates: "ls" },
    "creates: Unrecognized field 'creates' on 'local.CommandInputs'",
  ],
  [
    "a number for a text",
    "the same: mapper",
    { create: 1 },
    "create: Field 'create' on 'local.CommandInputs' must be a 'string'; got 'float64' instead",
  ],
  [
    "a text for a list",
    "the same",
    { interpreter: "bash -c" },
    "interpreter: Field 'interpreter' on 'local.CommandInputs' must be a '[]string'; got 'string' instead",
  ],
  [
    "a number in a list of texts",
    "base.go: *[]string",
    { interpreter: ["sh", 1] },
    "interpreter[1]: Field 'interpreter[1]' on 'local.CommandInputs' must be a 'string'; got 'float64' instead",
  ],
  [
    "a number in the environment",
    "base.go: map[string]string",
    { environment: { A: 1 } },
    "environment[A] value: Field 'environment[A] value' on 'local.CommandInputs' must be a 'string'; got 'float64' instead",
  ],
  [
    "a text for yes or no",
    "base.go: *bool",
    { addPreviousOutputInEnv: "no" },
    "addPreviousOutputInEnv: Field 'addPreviousOutputInEnv' on 'local.CommandInputs' must be a 'bool'; got 'string' instead",
  ],
];

/** base.go: pointers are optional, triggers are of any type. */
export const takenByCommand: Properties[] = [
  { logging: "all" }, // logging.go: a word that it does not know logs nothing
  { create: null },
  { triggers: [1, "a", { b: 2 }] },
  { interpreter: [] },
  { environment: {}, stdin: "" },
  {},
];
