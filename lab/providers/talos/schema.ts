import type { CheckFailure, Properties } from "../provider";
import { containsUnknown, isMap, secret, UNKNOWN } from "../values";
import { parseDuration } from "./retry";

// What the real provider asks of a resource's arguments before anything else: pulumi-talos v0.8.1 (schema.json),
// terraform-provider-talos v0.11.0 (each resource's Schema and ValidateConfig), pulumi-terraform-bridge v3.129.0
// (pkg/pf/tfbridge/provider_check.go). An argument that is not of the schema is passed over (pkg/convert/object.go).

/** Arguments of one resource. */
interface Arguments {
  readonly types: Readonly<Record<string, "text" | "texts" | "mapping">>;
  readonly required: readonly string[];
  /** Each has a twin `…Wo` that is never kept, and one of the two is given. */
  readonly oneOf: readonly string[];
  /** Which limits `timeouts` has. */
  readonly limits: readonly string[];
  /** Secret by the schema, whatever the program says. */
  readonly secret: readonly string[];
}

const client = { clientConfiguration: "mapping", clientConfigurationWo: "mapping", timeouts: "mapping" } as const;
const nothing = { required: [], oneOf: [], limits: [], secret: [] };

const byType: Readonly<Record<string, Arguments>> = {
  "talos:machine/configurationApply:ConfigurationApply": {
    types: {
      ...{ ...client, node: "text", endpoint: "text", applyMode: "text", configPatches: "texts" },
      ...{ machineConfigurationInput: "text", machineConfigurationInputWo: "text", onDestroy: "mapping" },
    },
    required: ["node"],
    oneOf: ["machineConfigurationInput", "clientConfiguration"],
    limits: ["create", "update", "delete"],
    secret: ["machineConfigurationInput"],
  },
  "talos:machine/bootstrap:Bootstrap": {
    ...nothing,
    types: { ...client, node: "text", endpoint: "text" },
    required: ["node"],
    oneOf: ["clientConfiguration"],
    limits: ["create"],
  },
  "talos:cluster/kubeconfig:Kubeconfig": {
    ...nothing,
    types: { ...client, node: "text", endpoint: "text", certificateRenewalDuration: "text" },
    required: ["clientConfiguration", "node"],
    limits: ["create", "update"],
  },
  "talos:machine/secrets:Secrets": { ...nothing, types: { talosVersion: "text" } },
  "talos:imageFactory/schematic:Schematic": { ...nothing, types: { schematic: "text" } },
};

/** Everything that the schema refuses in a resource's arguments. */
export function schemaFindings(type: string, inputs: Properties): CheckFailure[] {
  const { types, required, oneOf, limits } = byType[type] ?? { ...nothing, types: {} };
  const missing = required.filter((name) => !given(inputs[name]));
  return [
    ...missing.map((property) => ({ property, reason: "missing; it is required" })),
    ...oneOf.flatMap((name) => eitherOf(inputs, name)),
    ...Object.entries(types).flatMap(([name, kind]) => typeFindings(name, inputs[name], kind)),
    ...limits.flatMap((limit) => durationFindings(limit, inputs["timeouts"])),
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

function eitherOf(inputs: Properties, name: string): CheckFailure[] {
  const [plain, written] = [given(inputs[name]), given(inputs[`${name}Wo`])];
  if (plain !== written) return [];
  return [{ property: name, reason: `${plain ? "both are" : "neither is"} set; it is ${name} or ${name}Wo` }];
}

/** Numbers and booleans become texts (pkg/convert/string.go); nothing else becomes anything. */
function typeFindings(property: string, value: unknown, kind: "text" | "texts" | "mapping"): CheckFailure[] {
  if (!given(value) || value === UNKNOWN) return [];
  const text = (item: unknown): boolean => !given(item) || typeof item !== "object";
  if (kind === "text") return text(value) ? [] : [{ property, reason: "is no text" }];
  if (kind === "mapping") return isMap(value) ? [] : [{ property, reason: "is not a mapping" }];
  return Array.isArray(value) && value.every(text) ? [] : [{ property, reason: "is no list of texts" }];
}

/** Source: terraform-plugin-framework-timeouts v0.7.0, whose attributes are validated as Go durations. */
function durationFindings(limit: string, timeouts: unknown): CheckFailure[] {
  const text = isMap(timeouts) ? timeouts[limit] : undefined;
  if (!given(text) || containsUnknown(text)) return [];
  try {
    parseDuration(String(text));
    return [];
  } catch (error) {
    return [{ property: `timeouts.${limit}`, reason: (error as Error).message }];
  }
}
