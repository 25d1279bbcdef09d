import * as pulumi from "@pulumi/pulumi";
import type * as inputs from "../types/input";
import type * as outputs from "../types/output";
import { invokeOptions } from "../utilities";

const token = "talos:cluster/getHealth:getHealth";

/** Which cluster to watch until it is healthy. */
export interface GetHealthArgs {
  /** Client certificate of the machine API. */
  clientConfiguration: inputs.cluster.GetHealthClientConfiguration;
  /** Addresses of the control-plane machines. */
  controlPlaneNodes: string[];
  /** Machines to ask; at least one must be of the control plane. */
  endpoints: string[];
  /** Leave out the checks that need Kubernetes. Default: false. */
  skipKubernetesChecks?: boolean;
  /** How long to watch. Default: `10m`. */
  timeouts?: inputs.cluster.GetHealthTimeouts;
  /** Addresses of the workers. */
  workerNodes?: string[];
}

/** Which cluster to watch until it is healthy, from outputs of other resources. */
export interface GetHealthOutputArgs {
  /** Client certificate of the machine API. */
  clientConfiguration: pulumi.Input<inputs.cluster.GetHealthClientConfigurationArgs>;
  /** Addresses of the control-plane machines. */
  controlPlaneNodes: pulumi.Input<pulumi.Input<string>[]>;
  /** Machines to ask; at least one must be of the control plane. */
  endpoints: pulumi.Input<pulumi.Input<string>[]>;
  /** Leave out the checks that need Kubernetes. */
  skipKubernetesChecks?: pulumi.Input<boolean | undefined>;
  /** How long to watch. */
  timeouts?: pulumi.Input<inputs.cluster.GetHealthTimeoutsArgs | undefined>;
  /** Addresses of the workers. */
  workerNodes?: pulumi.Input<pulumi.Input<string>[] | undefined>;
}

/** A cluster seen healthy; an unhealthy one is an error. */
export interface GetHealthResult {
  /** As given. */
  readonly clientConfiguration: outputs.cluster.GetHealthClientConfiguration;
  /** As given. */
  readonly controlPlaneNodes: string[];
  /** As given. */
  readonly endpoints: string[];
  /** Name of the look-up in the provider; without meaning. */
  readonly id: string;
  /** As given. */
  readonly skipKubernetesChecks?: boolean;
  /** As given. */
  readonly timeouts?: outputs.cluster.GetHealthTimeouts;
  /** As given. */
  readonly workerNodes?: string[];
}

const properties = (args: GetHealthOutputArgs): pulumi.Inputs => ({
  clientConfiguration: args.clientConfiguration,
  controlPlaneNodes: args.controlPlaneNodes,
  endpoints: args.endpoints,
  skipKubernetesChecks: args.skipKubernetesChecks,
  timeouts: args.timeouts,
  workerNodes: args.workerNodes,
});

/** Waits until a cluster is healthy. */
export function getHealth(args: GetHealthArgs, opts?: pulumi.InvokeOptions): Promise<GetHealthResult> {
  return pulumi.runtime.invoke(token, properties(args), invokeOptions(opts));
}

/** The same, from outputs of other resources. */
export function getHealthOutput(
  args: GetHealthOutputArgs,
  opts?: pulumi.InvokeOutputOptions,
): pulumi.Output<GetHealthResult> {
  return pulumi.runtime.invokeOutput(token, properties(args), invokeOptions(opts));
}
