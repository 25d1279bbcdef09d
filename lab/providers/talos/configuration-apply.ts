import { createHash } from "node:crypto";
import type { CallContext, CheckFailure, Properties } from "../provider";
import { containsUnknown, secret, UNKNOWN } from "../values";
import { patchedConfiguration } from "./configuration";
import { limitOf, maintenanceOf, onMachine, type Tools, untilDone } from "./machine";
import type { Resource } from "./resource";
import { atValue } from "./schema";

const modes = ["auto", "reboot", "no_reboot", "staged", "staged_if_needing_reboot"];

/**
 * `talos:machine/configurationApply:ConfigurationApply`. Source: terraform-provider-talos v0.11.0,
 * pkg/talos/talos_machine_configuration_apply_resource.go: the whole configuration is merged here and sent; the machine
 * is never asked what it has, so that there is no drift; destroying does nothing.
 */
export const configurationApply: Resource = {
  check: (inputs, name) => modeFindings(inputs["applyMode"], name),

  create: async (tools, inputs, { preview, timeoutSeconds, context }) => ({
    id: "machine_configuration_apply",
    outputs: await apply(tools, inputs, preview, limitOf(tools, inputs, "create", timeoutSeconds), context),
  }),

  update: (tools, inputs, { preview, timeoutSeconds, context }) =>
    apply(tools, inputs, preview, limitOf(tools, inputs, "update", timeoutSeconds), context),
};

async function apply(
  tools: Tools,
  inputs: Properties,
  preview: boolean,
  timeout: number,
  context: CallContext,
): Promise<Properties> {
  const { signal } = context;
  const given = inputs["machineConfigurationInput"];
  // A patch that is null is passed over (configPatchesAsStrings).
  const patches = ((inputs["configPatches"] ?? []) as unknown[]).filter((patch) => patch !== null);
  const outputs: Properties = {
    ...inputs,
    applyMode: inputs["applyMode"] ?? "auto",
    endpoint: inputs["endpoint"] ?? inputs["node"],
  };
  if (containsUnknown([given, patches, inputs["node"]])) {
    return { ...outputs, machineConfiguration: UNKNOWN, machineConfigurationHash: UNKNOWN, resolvedApplyMode: UNKNOWN };
  }
  // A patch that cannot be merged is found in the preview already.
  const configuration = await patchedConfiguration(tools.talosctl, String(given), patches as string[], { signal });
  const resolvedApplyMode = await resolveMode(tools, inputs, String(outputs["applyMode"]), configuration, context);
  if (!preview) {
    const mode = resolvedApplyMode.replace("_", "-");
    const args = ([file = ""]: string[]): string[] => ["apply-config", "--file", file, "--mode", mode];
    const what = "applying the configuration";
    const maintenance = await maintenanceOf(tools, inputs, signal);
    await untilDone(tools, inputs, { what, contents: [configuration], args, timeout, maintenance }, context);
  }
  return {
    ...outputs,
    machineConfiguration: secret(configuration),
    machineConfigurationHash: createHash("sha256").update(configuration).digest("hex"),
    resolvedApplyMode,
  };
}

/**
 * Answers to a dry run that the provider reads as a reboot (dryRunNeedsReboot). Talos before 1.13 names no mode in maintenance mode,
 * and none is REBOOT, the first of the enumeration (talos v1.12.6, internal/app/maintenance/server.go, ApplyConfiguration).
 */
const reboots = /with a reboot|is running in maintenance mode and does not have a config yet/i;

/** `staged_if_needing_reboot` asks the machine what applying would do. Whoever does not answer gets `auto`, with a warning. */
async function resolveMode(
  tools: Tools,
  inputs: Properties,
  mode: string,
  configuration: string,
  context: CallContext,
): Promise<string> {
  if (mode !== "staged_if_needing_reboot") return mode;
  const { machineConfiguration: known, resolvedApplyMode: resolved } = context.oldOutputs;
  if (known === configuration && typeof resolved === "string") return resolved;
  const args = ([file = ""]: string[]): string[] => ["apply-config", "--file", file, "--mode", "auto", "--dry-run"];
  try {
    if (containsUnknown(inputs["clientConfiguration"])) return "auto";
    const maintenance = await maintenanceOf(tools, inputs, context.signal);
    const dry = { contents: [configuration], args, timeout: 60_000, maintenance };
    const { stdout, stderr } = await onMachine(tools, inputs, dry, context.signal);
    return reboots.test(stdout + stderr) ? "staged" : "auto";
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const why = `applyMode: it is not known whether ${String(inputs["node"])} would reboot (${reason}): auto is used`;
    context.log("warning", why);
    return "auto";
  }
}

function modeFindings(mode: unknown, name: string): CheckFailure[] {
  if (mode === undefined || mode === null || mode === UNKNOWN || modes.some((each) => each === mode)) return [];
  const known = modes.map((each) => JSON.stringify(each)).join(" ");
  const must = `Attribute apply_mode value must be one of: [${known}], got: ${JSON.stringify(mode)}.`;
  return [atValue("Invalid Attribute Value Match", must, `${name}.applyMode`)];
}
