import { z } from "zod";
import { durationValue } from "../../../components/recipe/rules/duration";
import type { Properties } from "../provider";
import { isMap, orUnknown, secret } from "../values";
import { contractOf } from "./contract";

// The real provider's first checks of a resource's arguments: pulumi-talos v0.8.1 (schema.json),
// terraform-provider-talos v0.11.0 (each resource's Schema and ValidateConfig), pulumi-terraform-bridge v3.129.0
// (pkg/pf/tfbridge/provider_check.go). lab/tests/providers/rules/installed.test.ts compares each with the real
// provider.

/** Numbers and booleans are converted to strings (pkg/convert/string.go), and nothing else is converted. */
const text = z.union([z.string(), z.number(), z.boolean()]);
const mapping = orUnknown(z.record(z.string(), z.unknown()));
/** A duration in Go's notation (terraform-plugin-framework-timeouts v0.7.0, validators.TimeDuration). */
const duration = orUnknown(
  z.string().refine((value) => durationValue(value) !== undefined, "is no duration, e.g. 10m"),
);

const modes = ["auto", "reboot", "no_reboot", "staged", "staged_if_needing_reboot"] as const;
const target = { node: text, endpoint: text.nullish(), clientConfiguration: mapping };
const timeoutsShape = (limits: readonly string[]) => ({
  timeouts: orUnknown(
    z.object(Object.fromEntries(limits.map((limit) => [limit, duration.nullish()]))),
  ).nullish(),
});
/** Arguments that this package never sets. The first two are write-only variants of others, which are not stored. */
const notEmulated = {
  clientConfigurationWo: z.null().optional(),
  machineConfigurationInputWo: z.null().optional(),
  onDestroy: z.null().optional(),
};

/** Arguments of each type, and the limits in its `timeouts`. */
const byType: Readonly<Record<string, { shape: z.ZodRawShape; limits?: readonly string[] }>> = {
  "talos:machine/configurationApply:ConfigurationApply": {
    shape: {
      ...target,
      machineConfigurationInput: text,
      applyMode: orUnknown(z.enum(modes)).nullish(),
      configPatches: orUnknown(z.array(text.nullable())).nullish(),
    },
    limits: ["create", "update", "delete"],
  },
  "talos:machine/bootstrap:Bootstrap": { shape: target, limits: ["create"] },
  "talos:cluster/kubeconfig:Kubeconfig": {
    shape: { ...target, certificateRenewalDuration: text.nullish() },
    limits: ["create", "update"],
  },
  "talos:machine/secrets:Secrets": {
    shape: { talosVersion: orUnknown(text.refine(contractOf, "is no release of Talos")).nullish() },
  },
  "talos:imageFactory/schematic:Schematic": { shape: { schematic: text.nullish() } },
};

/** Checks a type's arguments. An argument outside of the schema is ignored (pkg/convert/object.go). */
export function schemaOf(type: string): z.ZodType {
  const { shape = {}, limits = [] } = byType[type] ?? {};
  return z.looseObject({ ...shape, ...timeoutsShape(limits), ...notEmulated });
}

/**
 * The arguments with the marks of secrets that the schema has, whatever the program says (pkg/tfbridge,
 * MarkSchemaSecrets).
 */
export const withSecrets = ({
  machineConfigurationInput: configuration,
  ...inputs
}: Properties): Properties =>
  typeof configuration === "string"
    ? { ...inputs, machineConfigurationInput: secret(configuration) }
    : inputs;

/**
 * The bridge compares the given state with the state that it makes from the outputs. In the latter an unset limit is
 * missing instead of null. So a resource must set all of its limits or none (pulumi-terraform-bridge v3.129.0,
 * pkg/tfbridge/rawstate.go, turnaroundCheck, called by pkg/pf/internal/pfbridge once the resource is made;
 * pulumiverse/pulumi-talos#208, seen with ConfigurationApply).
 */
export function refusePartialTimeouts(type: string, { timeouts }: Properties): void {
  const { limits = [] } = byType[type] ?? {};
  const set = limits.filter(
    (limit) => isMap(timeouts) && (timeouts[limit] ?? undefined) !== undefined,
  );
  if (set.length > 0 && set.length < limits.length)
    throw new Error("recovered raw state does not byte-for-byte match the original raw state");
}
