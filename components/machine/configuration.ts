import { createHash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import type { GpuMachineArgs, GpuMachineRecipe, MachineInputs } from "./args";
import { contractOf } from "../recipe/machine/hostname";
import { omniResources } from "../recipe/machine/omni";
import { endpointFor } from "../credentials/texts";
import { runProgram } from "./program-resource";
import type { AdoptTask, OmniTask } from "./program/task";
import { clientOf, clusterSecretsOf, encryptionPatches } from "../credentials/made-once";

/** Limit of bringing a configuration onto a machine, which only stages it. */
const LIMIT = "5m";

/** A configuration that waits on the machine for its next boot. */
export interface Configured {
  /** Hash of what the machine is given; known at preview. */
  hash: pulumi.Input<string>;
  /** Resource that brings it. */
  by: pulumi.Resource;
}

/** Gives the machine its configuration, staged: it takes effect with the one reboot of the upgrade. Omni decides that by itself. */
export function configureMachine(name: string, machine: MachineInputs, opts: pulumi.CustomResourceOptions): Configured {
  const by = { owned: own, adopted: adopt, omni: giveToOmni }[machine.args.configuration];
  return by(name, machine, opts);
}

/** Pulumi holds the whole configuration. One `ConfigurationApply` per machine: a second one would overwrite the first. */
function own(name: string, { node, args, recipe }: MachineInputs, opts: pulumi.CustomResourceOptions): Configured {
  const given = required(node, args);
  const client = clientOf(given.talosconfig);
  const generated = talos.machine.getConfigurationOutput(
    {
      clusterName: given.clusterName,
      clusterEndpoint: given.clusterEndpoint,
      machineType: args.role,
      machineSecrets: clusterSecretsOf(given.machineSecrets),
      talosVersion: contractOf(args.talosVersion, args.runningVersion),
      kubernetesVersion: given.kubernetesVersion,
      // Here and not among the patches below, which are shown: these are secret.
      ...(args.role === "controlplane" ? { configPatches: encryptionPatches(given.machineSecrets) } : {}),
      docs: false,
      examples: false,
    },
    opts.parent === undefined ? {} : { parent: opts.parent },
  );
  const configuration = pulumi.secret(generated.machineConfiguration);
  const applied = new talos.machine.ConfigurationApply(
    name,
    {
      node: args.address,
      // A machine in maintenance mode answers at its own address alone, and that is where the provider looks for one
      // (terraform-provider-talos v0.11.0, pkg/talos/util.go, talosClientOp: insecurely at `endpoint`, whatever `node` is).
      endpoint: args.maintenance
        ? args.address
        : client.endpoints.apply((endpoints) => endpointFor(args.address, endpoints)),
      clientConfiguration: client.configuration,
      machineConfigurationInput: configuration,
      // Here rather than in what is generated: patches are not secret, so a preview shows what changes.
      configPatches: notedOn(recipe.patches, args.lookAgain),
      // In maintenance mode nothing is staged: the first configuration applies, and installs. Later ones are staged where
      // they would reboot, for the upgrade program to do that in order (terraform-provider-talos v0.11.0,
      // pkg/talos/talos_machine_configuration_apply_resource.go, handleRebootPrevention).
      applyMode: args.maintenance ? "staged_if_needing_reboot" : "staged",
      // All three or none: of a part of them the bridge makes another state than it was given, and refuses its own
      // (pulumi-terraform-bridge, pkg/tfbridge/rawstate.go; pulumiverse/pulumi-talos#208).
      timeouts: { create: LIMIT, update: LIMIT, delete: LIMIT },
    },
    { ...opts, customTimeouts: { create: LIMIT, update: LIMIT, delete: LIMIT } },
  );
  // Nobody guesses a configuration full of keys from its hash.
  return {
    hash: pulumi.unsecret(configuration.apply((text) => hashOf([text, ...recipe.patches]))),
    by: applied,
  };
}

/**
 * The provider sends a configuration again only where an input of it has changed, and never asks what the machine has. A comment
 * changes nothing for Talos.
 */
function notedOn(patches: string[], lookAgain: string | undefined): string[] {
  if (lookAgain === undefined) return patches;
  return patches.map((patch, index) => (index < patches.length - 1 ? patch : `# lookAgain: ${lookAgain}\n${patch}`));
}

/** Somebody else holds the configuration: the program merges our part in, and takes it out again on delete. */
function adopt(name: string, { node, args, recipe }: MachineInputs, opts: pulumi.CustomResourceOptions): Configured {
  const task: AdoptTask = { machine: node, address: args.address, patches: recipe.patches };
  const adopted = runProgram(
    name,
    {
      verb: "adopt",
      deleteVerb: "release",
      task: JSON.stringify(task),
      talosconfig: args.talosconfig,
      limit: LIMIT,
      lookAgain: args.lookAgain,
    },
    opts,
  );
  return { hash: hashOf(recipe.patches), by: adopted };
}

/** Omni holds the configuration: the program gives it the machine's own patches and extensions, and takes them away on delete. */
function giveToOmni(
  name: string,
  { node, args, recipe }: MachineInputs,
  opts: pulumi.CustomResourceOptions,
): Configured {
  const given = omniTaskOf(node, args, recipe);
  const applied = runProgram(
    name,
    {
      verb: "omni-apply",
      deleteVerb: "omni-release",
      task: JSON.stringify(given),
      omni: { endpoint: args.omniEndpoint, serviceAccountKey: args.omniServiceAccountKey },
      limit: LIMIT,
      lookAgain: args.lookAgain,
    },
    opts,
  );
  return { hash: hashOf([JSON.stringify(given.resources)]), by: applied };
}

/** What Omni is given of a machine. */
export function omniTaskOf(
  node: string,
  args: Pick<GpuMachineArgs, "uuid" | "clusterName" | "drop">,
  { patches, extensions = [] }: Pick<GpuMachineRecipe, "patches" | "extensions">,
): OmniTask {
  const { uuid, cluster } = omniIdentity(node, args);
  const resources = omniResources({ cluster, uuid, patches, extensions });
  const drop = args.drop?.extensions ?? [];
  return { machine: node, uuid, cluster, resources, ...(drop.length > 0 ? { drop } : {}) };
}

/** By what Omni knows a machine. */
export function omniIdentity(
  node: string,
  { uuid, clusterName }: Pick<GpuMachineArgs, "uuid" | "clusterName">,
): { uuid: string; cluster: string } {
  if (uuid === undefined || clusterName === undefined) {
    throw new Error(
      `machines.${node}.configuration: omni, and not given: ${uuid === undefined ? "uuid" : "clusterName"}; Omni knows the machine by both; give them, or set it to adopted`,
    );
  }
  return { uuid, cluster: clusterName };
}

/** What an owned configuration cannot do without. */
function required(node: string, args: GpuMachineArgs) {
  const { clusterName, clusterEndpoint, kubernetesVersion, machineSecrets, talosconfig } = args;
  if (
    clusterName === undefined ||
    clusterEndpoint === undefined ||
    kubernetesVersion === undefined ||
    machineSecrets === undefined ||
    talosconfig === undefined
  ) {
    const missing = Object.entries({ clusterName, clusterEndpoint, kubernetesVersion, machineSecrets, talosconfig })
      .filter(([, value]) => value === undefined)
      .map(([key]) => key);
    throw new Error(
      `machines.${node}.configuration: owned, and not given: ${missing.join(", ")}; a whole configuration cannot be made without them; give them, or set it to adopted`,
    );
  }
  return { clusterName, clusterEndpoint, kubernetesVersion, machineSecrets, talosconfig };
}

function hashOf(texts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(texts)).digest("hex");
}
