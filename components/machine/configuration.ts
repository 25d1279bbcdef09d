import { createHash } from "node:crypto";
import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import type { Access } from "../credentials/access";
import type { PlannedMachine } from "../recipe/machine/planned-machine";
import { omniResources } from "../recipe/machine/omni";
import { endpointFor } from "../credentials/texts";
import { runProgram } from "./program-resource";
import type { AdoptTask, OmniTask } from "../program/task";

/** Limit for sending a configuration to a machine or to Omni. A reboot comes later, with the upgrade's own limits. */
const LIMIT = "5m";

/** A configuration that is staged on the machine for its next boot. */
export interface Configured {
  /** Hash of the configuration or patches; known at preview. */
  hash: pulumi.Input<string>;
  /** Resource that sends it. */
  resource: pulumi.Resource;
}

type Configuring = (
  name: string,
  machine: PlannedMachine,
  access: Access,
  opts: pulumi.CustomResourceOptions,
) => Configured;

/**
 * Stages the machine's configuration, which takes effect with the single reboot of the upgrade. For an Omni machine,
 * Omni decides when the configuration takes effect.
 */
export const configureMachine: Configuring = (name, machine, access, opts) =>
  ({ owned: configureOwned, adopted: configureAdopted, omni: configureOmni })[
    machine.configuration
  ](name, machine, access, opts);

/**
 * Configures an owned machine, whose whole configuration this stack defines. A machine has exactly one
 * `ConfigurationApply`, because a second one would overwrite the first.
 */
const configureOwned: Configuring = (name, machine, access, opts) => {
  const { address, role, installs, patches, reconcileToken } = machine;
  const client = access.client();
  const generatorInputs = {
    ...required(machine),
    machineType: role,
    talosVersion: machine.contract,
  };
  // Machines with the same arguments share one configuration: its generation needs nothing about a single machine.
  const configuration = access.generated(JSON.stringify(generatorInputs), () => {
    const generated = talos.machine.getConfigurationOutput(
      {
        ...generatorInputs,
        machineSecrets: access.clusterSecrets(),
        // These patches are secret, so they are not among the patches below, which a preview shows.
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
      // A machine in maintenance mode answers only at its own address, and the provider expects it at `endpoint`
      // (terraform-provider-talos v0.11.0, pkg/talos/util.go, talosClientOp: an insecure connection to `endpoint`,
      // regardless of `node`).
      endpoint: installs
        ? address
        : client.endpoints.apply((endpoints) => endpointFor(address, endpoints)),
      clientConfiguration: client.configuration,
      machineConfigurationInput: configuration,
      // Patches are not secret. They are passed here, and not to the generation, so that a preview shows them.
      configPatches: withTokenNote(patches, reconcileToken),
      // In maintenance mode the first configuration takes effect at once and installs Talos. Later configurations that
      // need a reboot are staged, so that the upgrade program reboots the machines in order (terraform-provider-talos
      // v0.11.0, pkg/talos/talos_machine_configuration_apply_resource.go, handleRebootPrevention).
      applyMode: installs ? "staged_if_needing_reboot" : "staged",
      // All three limits or none: with only some of them, the bridge writes a state that differs from its input, and
      // then refuses that state (pulumi-terraform-bridge, pkg/tfbridge/rawstate.go; pulumiverse/pulumi-talos#208).
      timeouts: { create: LIMIT, update: LIMIT, delete: LIMIT },
    },
    { ...opts, customTimeouts: { create: LIMIT, update: LIMIT, delete: LIMIT } },
  );
  // The hash need not be secret: the configuration contains keys, so its hash cannot be guessed.
  return {
    hash: pulumi.unsecret(configuration.apply((text) => hashOf([text, ...patches]))),
    resource: applied,
  };
};

/**
 * Patches with `reconcileToken` in a comment. The provider sends a configuration again only if an input has changed. It
 * never compares the configuration with the machine's. Talos ignores the comment.
 */
function withTokenNote(patches: string[], reconcileToken: string | undefined): string[] {
  if (reconcileToken === undefined) return patches;
  return patches.map((patch, index) =>
    index < patches.length - 1 ? patch : `# reconcileToken: ${reconcileToken}\n${patch}`,
  );
}

/**
 * Configures an adopted machine, whose configuration another tool owns. The program merges the stack's patches into
 * this configuration, and removes them on delete.
 */
const configureAdopted: Configuring = (
  name,
  { name: machine, address, patches, reconcileToken },
  { secrets },
  opts,
) => {
  const task = JSON.stringify({ machine, address, patches } satisfies AdoptTask);
  const neededCredentials = ["talosconfig"] as const;
  const programUse = {
    verb: "adopt",
    deleteVerb: "release",
    task,
    neededCredentials,
    secrets,
    limit: LIMIT,
    reconcileToken,
    // The answer has the values that the patches replaced, e.g. a proxy's URL with its password.
    answersSecret: true,
  };
  return { hash: hashOf(patches), resource: runProgram(name, programUse, opts) };
};

/**
 * Configures an Omni machine: the program writes the machine's patches and extensions into Omni, and removes them on
 * delete.
 */
const configureOmni: Configuring = (name, machine, { secrets }, opts) => {
  const omniTask = omniTaskOf(machine);
  const neededCredentials = ["omniEndpoint", "omniServiceAccountKey"] as const;
  const { reconcileToken } = machine;
  const task = JSON.stringify(omniTask);
  const verbs = { verb: "omni-apply", deleteVerb: "omni-release", forgets: true };
  const programUse = { ...verbs, task, neededCredentials, secrets, limit: LIMIT, reconcileToken };
  return {
    hash: hashOf([JSON.stringify(omniTask.resources)]),
    resource: runProgram(name, programUse, opts),
  };
};

/** Task with the resources that a machine needs in Omni. */
export function omniTaskOf(machine: PlannedMachine): OmniTask {
  const identity = omniIdentity(machine);
  const { name, patches, extensions } = machine;
  const resources = omniResources({ ...identity, patches, extensions });
  const drop = machine.drop?.extensions ?? [];
  return { machine: name, ...identity, resources, ...(drop.length > 0 ? { drop } : {}) };
}

/** UUID and cluster name by which Omni identifies a machine. A check refuses an Omni machine without them. */
export const omniIdentity = ({ uuid = "", clusterName: cluster = "" }: PlannedMachine) => ({
  uuid,
  cluster,
});

/** Fields that an owned configuration needs; a check requires all of them. */
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
