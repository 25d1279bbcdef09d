import { durationValue } from "../../../components/recipe/rules/duration";
import type { CheckFailure, Properties } from "../provider";
import { containsUnknown, isMap, secret, UNKNOWN } from "../values";

// What the real provider asks of a resource's arguments before anything else: pulumi-talos v0.8.1 (schema.json),
// terraform-provider-talos v0.11.0 (each resource's Schema and ValidateConfig), pulumi-terraform-bridge v3.129.0
// (pkg/pf/tfbridge/provider_check.go). An argument that is not of the schema is passed over (pkg/convert/object.go). The texts are the
// real one's, asked by lab/tests/providers/rules/installed.test.ts.

/** Arguments of one resource. */
interface Arguments {
  readonly types: Readonly<Record<string, "text" | "texts" | "mapping">>;
  /** Each with its description, which the message quotes. */
  readonly required: Readonly<Record<string, string>>;
  /** Each has a twin `…Wo` that is never kept, and one of the two is given; the twins are not emulated. */
  readonly oneOf: readonly string[];
  /** Which limits `timeouts` has. */
  readonly limits: readonly string[];
  /** Secret by the schema, whatever the program says. */
  readonly secret: readonly string[];
}

const client = { clientConfiguration: "mapping", timeouts: "mapping" } as const;
const nothing = { required: {}, oneOf: [], limits: [], secret: [] };

const byType: Readonly<Record<string, Arguments>> = {
  "talos:machine/configurationApply:ConfigurationApply": {
    types: {
      ...{ ...client, node: "text", endpoint: "text", applyMode: "text", configPatches: "texts" },
      ...{ machineConfigurationInput: "text" },
    },
    required: { node: "The name of the node to bootstrap" },
    oneOf: ["machineConfigurationInput", "clientConfiguration"],
    limits: ["create", "update", "delete"],
    secret: ["machineConfigurationInput"],
  },
  "talos:machine/bootstrap:Bootstrap": {
    ...nothing,
    types: { ...client, node: "text", endpoint: "text" },
    required: { node: "The name of the node to bootstrap" },
    oneOf: ["clientConfiguration"],
    limits: ["create"],
  },
  "talos:cluster/kubeconfig:Kubeconfig": {
    ...nothing,
    types: { ...client, node: "text", endpoint: "text", certificateRenewalDuration: "text" },
    required: {
      clientConfiguration: "The client configuration data",
      node: "controlplane node to retrieve the kubeconfig from",
    },
    limits: ["create", "update"],
  },
  "talos:machine/secrets:Secrets": { ...nothing, types: { talosVersion: "text" } },
  "talos:imageFactory/schematic:Schematic": { ...nothing, types: { schematic: "text" } },
};

/**
 * Everything that the schema refuses in a resource's arguments.
 *
 * @param name of the resource: the messages say where in it.
 * @throws Error where the real provider's check fails as a whole.
 */
export function schemaFindings(type: string, name: string, inputs: Properties): CheckFailure[] {
  const { types, required, oneOf, limits } = byType[type] ?? { ...nothing, types: {} };
  for (const [argument, kind] of Object.entries(types)) refuseOtherType(argument, inputs[argument], kind);
  for (const argument of notEmulated)
    if (given(inputs[argument]))
      throw new Error(`${argument}: the lab's talos provider does not have it; leave it out`);
  for (const argument of oneOf) refuseMissing(inputs, argument);
  const missing = Object.entries(required).filter(([argument]) => !given(inputs[argument]));
  return [
    ...missing.map(([argument, is]) => ({ property: "", reason: `Missing required property '${argument}': ${is}` })),
    ...limits.flatMap((limit) => durationFindings(limit, name, inputs["timeouts"])),
  ];
}

/** The arguments with the marks of secrets that the schema has (pkg/tfbridge, MarkSchemaSecrets). */
export function withSecrets(type: string, inputs: Properties): Properties {
  const hidden = (byType[type]?.secret ?? []).filter((name) => typeof inputs[name] === "string");
  return { ...inputs, ...Object.fromEntries(hidden.map((name) => [name, secret(inputs[name])])) };
}

/**
 * The bridge compares the state that it was given with the one that it makes of the outputs, in which a limit that was not
 * set is missing instead of null; so it is all of a resource's limits or none (pulumi-terraform-bridge v3.129.0,
 * pkg/tfbridge/rawstate.go, turnaroundCheck, called by pkg/pf/internal/pfbridge once the resource is made;
 * pulumiverse/pulumi-talos#208, seen of ConfigurationApply).
 */
export function refusePartialTimeouts(type: string, { timeouts }: Properties): void {
  const { limits } = byType[type] ?? nothing;
  const set = limits.filter((limit) => isMap(timeouts) && given(timeouts[limit]));
  if (set.length > 0 && set.length < limits.length)
    throw new Error("recovered raw state does not byte-for-byte match the original raw state");
}

const given = (value: unknown): boolean => value !== undefined && value !== null;

/** Terraform's name of an argument. */
const snake = (argument: string): string => argument.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Arguments that nothing of this package gives. */
const notEmulated = ["clientConfigurationWo", "machineConfigurationInputWo", "onDestroy"];

function refuseMissing(inputs: Properties, argument: string): void {
  if (given(inputs[argument])) return;
  const name = snake(argument);
  throw new Error(`Missing ${name.replaceAll("_", " ")}: Exactly one of ${name} or ${name}_wo must be set`);
}

/** Numbers and booleans become texts (pkg/convert/string.go); nothing else becomes anything. */
function refuseOtherType(argument: string, value: unknown, kind: "text" | "texts" | "mapping"): void {
  if (!given(value) || value === UNKNOWN) return;
  const wrong = ofOtherType(value, kind);
  if (wrong === undefined) return;
  const what = "cannot encode resource inputs to call ValidateResourceConfig";
  throw new Error(`${what}: objectEncoder failed on property "${snake(argument)}": ${wrong}`);
}

function ofOtherType(value: unknown, kind: "text" | "texts" | "mapping"): string | undefined {
  const isText = (item: unknown): boolean => !given(item) || typeof item !== "object";
  const noText = (item: unknown): string => `Expected a string, got: ${inGo(item)}`;
  if (kind === "text") return isText(value) ? undefined : noText(value);
  if (kind === "mapping") return isMap(value) ? undefined : "Expected an Object PropertyValue";
  if (!Array.isArray(value)) return "Expected an Array PropertyValue";
  const odd = value.findIndex((item) => !isText(item));
  return odd < 0
    ? undefined
    : `encList failed while encoding element ${odd} (${inGo(value[odd])}): ${noText(value[odd])}`;
}

/** A value as Go prints it: a struct (pulumi/pulumi, sdk/go/common/resource, PropertyValue) of a map, a list or a plain value. */
function inGo(value: unknown): string {
  if (Array.isArray(value)) return `{[${value.map(inGo).join(" ")}]}`;
  if (!isMap(value)) return `{${String(value)}}`;
  const entries = Object.keys(value).sort();
  return `{map[${entries.map((key) => `${key}:${inGo(value[key])}`).join(" ")}]}`;
}

/** Source: terraform-plugin-framework-timeouts v0.7.0, whose attributes are validated as Go durations. */
function durationFindings(limit: string, name: string, timeouts: unknown): CheckFailure[] {
  const text = isMap(timeouts) ? timeouts[limit] : undefined;
  if (!given(text) || containsUnknown(text)) return [];
  if (durationValue(String(text)) !== undefined) return [];
  const must =
    'must be a string containing a sequence of decimal numbers, each with optional fraction and a unit suffix, such as "300ms", "-1.5h" or "2h45m". Valid time units are "ns", "us" (or "µs"), "ms", "s", "m", "h"..';
  return [
    atValue("Invalid Attribute Value Time Duration", `${JSON.stringify(text)} ${must}`, `${name}.timeouts.${limit}`),
  ];
}

/** A finding of Terraform's about a value; the bridge says where it is in its reason alone (pkg/tfbridge, provider_check.go). */
export const atValue = (summary: string, detail: string, where: string): CheckFailure => ({
  property: "",
  reason: `${summary}. ${detail} Examine values at '${where}'.`,
});
