import * as pulumi from "@pulumi/pulumi";
import type * as inputs from "../types/input";
import type * as outputs from "../types/output";
import { invokeOptions } from "../utilities";

const token = "talos:machine/getConfiguration:getConfiguration";

/** Inputs of a generated machine configuration. */
export interface GetConfigurationOutputArgs {
  /** URL of the Kubernetes API, e.g. `https://192.168.1.10:6443`. */
  clusterEndpoint: pulumi.Input<string>;
  /** Name of the cluster. */
  clusterName: pulumi.Input<string>;
  /** Patches that are merged into the generated configuration, in this order. */
  configPatches?: pulumi.Input<pulumi.Input<string>[] | undefined>;
  /** Whether comments explain every field. Default: false. */
  docs?: pulumi.Input<boolean | undefined>;
  /** Whether comments show examples. Default: false. */
  examples?: pulumi.Input<boolean | undefined>;
  /** Kubernetes release, e.g. `v1.34.1`. Default: the provider's own. */
  kubernetesVersion?: pulumi.Input<string | undefined>;
  /** Secrets of the cluster. */
  machineSecrets: pulumi.Input<inputs.machine.MachineSecretsArgs>;
  /** `controlplane` or `worker`. */
  machineType: pulumi.Input<string>;
  /** Talos release whose features the configuration may use, e.g. `v1.12.6`. Default: the provider's own. */
  talosVersion?: pulumi.Input<string | undefined>;
}

/** A machine configuration. */
export interface GetConfigurationResult {
  /** As given. */
  readonly clusterEndpoint: string;
  /** As given. */
  readonly clusterName: string;
  /** As given. */
  readonly configPatches?: string[];
  /** As given. */
  readonly docs?: boolean;
  /** As given. */
  readonly examples?: boolean;
  /** ID of the look-up in the provider; it has no meaning. */
  readonly id: string;
  /** As given. */
  readonly kubernetesVersion?: string;
  /**
   * The configuration (YAML). Secret. Without a patch it installs `ghcr.io/siderolabs/installer:v1.13.0` on `/dev/sda`,
   * for any `talosVersion`.
   */
  readonly machineConfiguration: string;
  /** As given. */
  readonly machineSecrets: outputs.machine.MachineSecrets;
  /** As given. */
  readonly machineType: string;
  /** As given. */
  readonly talosVersion?: string;
}

const properties = (args: GetConfigurationOutputArgs): pulumi.Inputs => ({
  clusterEndpoint: args.clusterEndpoint,
  clusterName: args.clusterName,
  configPatches: args.configPatches,
  docs: args.docs,
  examples: args.examples,
  kubernetesVersion: args.kubernetesVersion,
  machineSecrets: args.machineSecrets,
  machineType: args.machineType,
  talosVersion: args.talosVersion,
});

/** Generates the configuration of a machine. */
export function getConfigurationOutput(
  args: GetConfigurationOutputArgs,
  opts?: pulumi.InvokeOutputOptions,
): pulumi.Output<GetConfigurationResult> {
  return pulumi.runtime.invokeOutput(token, properties(args), invokeOptions(opts));
}
