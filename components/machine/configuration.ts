import { createHash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import type { Access } from "../credentials/access";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { omniResources } from "../recipe/machine/omni";
import { endpointFor } from "../credentials/texts";
import { runProgram } from "./program-resource";
import type { AdoptTask, OmniTask } from "../program/task";

/** Limit of bringing a configuration onto a machine, which only stages it. */
const LIMIT = "5m";

/** A configuration that waits on the machine for its next boot. */
export interface Configured {
  /** Hash of what the machine is given; known at preview. */
  hash: pulumi.Input<string>;
  /** Resource that brings it. */
  by: pulumi.Resource;
}

type Configuring = (
  name: string,
  machine: PlannedMachine,
  access: Access,
  opts: pulumi.CustomResourceOptions,
) => Configured;

/**
 * Gives the machine its configuration, staged: it takes effect with the one reboot of the upgrade. Omni decides that
 * by itself.
 */
export const configureMachine: Configuring = (name, machine, access, opts) =>
  ({ owned: own, adopted: adopt, omni: giveToOmni })[machine.configuration](
    name,
    machine,
    access,
    opts,
  );

/**
 * Pulumi holds the whole configuration. One `ConfigurationApply` per machine: a second one would overwrite the first.
 */
const own: Configuring = (name, machine, access, opts) => {
  const { address, role, installs, patches, reconcileToken } = machine;
  const client = access.client();
  const said = { ...required(machine), machineType: role, talosVersion: machine.contract };
  // Alike machines have one: the provider's function learns nothing about a single machine; one call serves them all.
  const configuration = access.generated(JSON.stringify(said), () => {
    const generated = talos.machine.getConfigurationOutput(
      {
        ...said,
        machineSecrets: access.clusterSecrets(),
        // Here and not among the patches below, which are shown: these are secret.
        ...(role === "controlplane" ? { configPatches: access.encryptionPatches() } : {}),
        docs: false,
        examples: false,
      },
      opts.parent === undefined ? {} : { parent: opts.parent },
    );
    return pulumi.secret(generated.machineConfiguration);
  });
  const applied = new talos.machine.ConfigurationApply(
    name,
    {
      node: address,
      // A machine in maintenance mode answers at its own address alone, and that is where the provider looks for one
      // (terraform-provider-talos v0.11.0, pkg/talos/util.go, talosClientOp: insecurely at `endpoint`, whatever
      // `node` is).
      endpoint: installs
        ? address
        : client.endpoints.apply((endpoints) => endpointFor(address, endpoints)),
      clientConfiguration: client.configuration,
      machineConfigurationInput: configuration,
      // Here rather than in what is generated: patches are not secret, so a preview shows what changes.
      configPatches: notedOn(patches, reconcileToken),
      // In maintenance mode nothing is staged: the first configuration applies, and installs. Later ones are staged
      // where they would reboot, for the upgrade program to do that in order (terraform-provider-talos v0.11.0,
      // pkg/talos/talos_machine_configuration_apply_resource.go, handleRebootPrevention).
      applyMode: installs ? "staged_if_needing_reboot" : "staged",
      // All three or none: of a part of them the bridge makes another state than it was given, and refuses its own
      // (pulumi-terraform-bridge, pkg/tfbridge/rawstate.go; pulumiverse/pulumi-talos#208).
      timeouts: { create: LIMIT, update: LIMIT, delete: LIMIT },
    },
    { ...opts, customTimeouts: { create: LIMIT, update: LIMIT, delete: LIMIT } },
  );
  // The hash of a configuration full of keys cannot be guessed.
  return {
    hash: pulumi.unsecret(configuration.apply((text) => hashOf([text, ...patches]))),
    by: applied,
  };
};

/**
 * The provider sends a configuration again only where an input of it has changed, and never asks what the machine
 * has. A comment changes nothing for Talos.
 */
function notedOn(patches: string[], reconcileToken: string | undefined): string[] {
  if (reconcileToken === undefined) return patches;
  return patches.map((patch, index) =>
    index < patches.length - 1 ? patch : `# reconcileToken: ${reconcileToken}\n${patch}`,
  );
}

/** Another owner holds the configuration: the program merges our part in, and takes it out again on delete. */
const adopt: Configuring = (
  name,
  { name: machine, address, patches, reconcileToken },
  { secrets },
  opts,
) => {
  const task = JSON.stringify({ machine, address, patches } satisfies AdoptTask);
  const needs = ["talosconfig"] as const;
  const use = {
    verb: "adopt",
    deleteVerb: "release",
    task,
    needs,
    secrets,
    limit: LIMIT,
    reconcileToken,
  };
  return { hash: hashOf(patches), by: runProgram(name, use, opts) };
};

/**
 * Omni holds the configuration: the program gives it the machine's own patches and extensions, and takes them away on
 * delete.
 */
const giveToOmni: Configuring = (name, machine, { secrets }, opts) => {
  const omniTask = omniTaskOf(machine);
  const needs = ["omniEndpoint", "omniServiceAccountKey"] as const;
  const { reconcileToken } = machine;
  const task = JSON.stringify(omniTask);
  const verbs = { verb: "omni-apply", deleteVerb: "omni-release", forgets: true };
  const use = { ...verbs, task, needs, secrets, limit: LIMIT, reconcileToken };
  return { hash: hashOf([JSON.stringify(omniTask.resources)]), by: runProgram(name, use, opts) };
};

/** The stack's part of a machine that Omni gets. */
export function omniTaskOf(machine: PlannedMachine): OmniTask {
  const identity = omniIdentity(machine);
  const { name, patches, extensions } = machine;
  const resources = omniResources({ ...identity, patches, extensions });
  const drop = machine.drop?.extensions ?? [];
  return { machine: name, ...identity, resources, ...(drop.length > 0 ? { drop } : {}) };
}

/** By what Omni knows a machine. A check asks for both. */
export const omniIdentity = ({ uuid = "", clusterName: cluster = "" }: PlannedMachine) => ({
  uuid,
  cluster,
});

/** Fields that an owned configuration needs. A check asks for all of them. */
const required = ({
  clusterName = "",
  clusterEndpoint = "",
  kubernetesVersion = "",
}: PlannedMachine) => ({
  clusterName,
  clusterEndpoint,
  kubernetesVersion,
});

const hashOf = (texts: readonly string[]): string =>
  createHash("sha256").update(JSON.stringify(texts)).digest("hex");
