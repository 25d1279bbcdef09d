import * as pulumi from "@pulumi/pulumi";
import type * as inputs from "../types/input";
import type * as outputs from "../types/output";
import { invokeOptions } from "../utilities";

const token = "talos:client/getConfiguration:getConfiguration";

/** What a talosconfig is made from. */
export interface GetConfigurationArgs {
  /** Client certificate of the machine API. */
  clientConfiguration: inputs.client.GetConfigurationClientConfiguration;
  /** Name of the cluster, and of the context. */
  clusterName: string;
  /** Machines that talosctl connects to. */
  endpoints?: string[];
  /** Machines that talosctl means when it is not told. */
  nodes?: string[];
}

/** What a talosconfig is made from, from outputs of other resources. */
export interface GetConfigurationOutputArgs {
  /** Client certificate of the machine API. */
  clientConfiguration: pulumi.Input<inputs.client.GetConfigurationClientConfigurationArgs>;
  /** Name of the cluster, and of the context. */
  clusterName: pulumi.Input<string>;
  /** Machines that talosctl connects to. */
  endpoints?: pulumi.Input<pulumi.Input<string>[] | undefined>;
  /** Machines that talosctl means when it is not told. */
  nodes?: pulumi.Input<pulumi.Input<string>[] | undefined>;
}

/** A talosconfig. */
export interface GetConfigurationResult {
  /** As given. */
  readonly clientConfiguration: outputs.client.GetConfigurationClientConfiguration;
  /** As given. */
  readonly clusterName: string;
  /** As given. */
  readonly endpoints?: string[];
  /** Name of the look-up in the provider; without meaning. */
  readonly id: string;
  /** As given. */
  readonly nodes?: string[];
  /** The talosconfig (YAML). Secret. */
  readonly talosConfig: string;
}

const properties = ({
  clientConfiguration,
  clusterName,
  endpoints,
  nodes,
}: GetConfigurationOutputArgs): pulumi.Inputs => ({
  clientConfiguration,
  clusterName,
  endpoints,
  nodes,
});

/** Makes a talosconfig out of a client certificate. */
export function getConfiguration(
  args: GetConfigurationArgs,
  opts?: pulumi.InvokeOptions,
): Promise<GetConfigurationResult> {
  return pulumi.runtime.invoke(token, properties(args), invokeOptions(opts));
}

/** The same, from outputs of other resources. */
export function getConfigurationOutput(
  args: GetConfigurationOutputArgs,
  opts?: pulumi.InvokeOutputOptions,
): pulumi.Output<GetConfigurationResult> {
  return pulumi.runtime.invokeOutput(token, properties(args), invokeOptions(opts));
}
