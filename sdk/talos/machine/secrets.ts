import * as pulumi from "@pulumi/pulumi";
import type * as outputs from "../types/output";
import { resourceOptions, resourceProperties, type ResourceShape } from "../utilities";

const shape: ResourceShape = {
  inputs: ["talosVersion"],
  outputs: ["clientConfiguration", "machineSecrets"],
};

/** Arguments of the secrets of a cluster. */
export interface SecretsArgs {
  /** Talos release whose features need the secrets, e.g. `v1.12.6`. Default: the provider's own. */
  talosVersion?: pulumi.Input<string | undefined>;
}

/** Secrets of a cluster: certificate authorities, tokens, encryption keys, and a client certificate for the machine API. */
export class Secrets extends pulumi.CustomResource {
  /** @internal */
  public static readonly __pulumiType = "talos:machine/secrets:Secrets";

  /** Client certificate of the machine API, with its authority. */
  declare public readonly clientConfiguration: pulumi.Output<outputs.machine.ClientConfiguration>;
  /** Secrets for generating the machine configurations of the cluster. */
  declare public readonly machineSecrets: pulumi.Output<outputs.machine.MachineSecrets>;
  /** Talos release whose features need the secrets. */
  declare public readonly talosVersion: pulumi.Output<string>;

  constructor(name: string, args?: SecretsArgs, opts: pulumi.CustomResourceOptions = {}) {
    super(
      Secrets.__pulumiType,
      name,
      resourceProperties(shape, args),
      resourceOptions(shape, opts),
    );
  }
}
