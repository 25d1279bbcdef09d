import * as pulumi from "@pulumi/pulumi";
import type * as inputs from "../types/input";
import type * as outputs from "../types/output";
import { resourceOptions, resourceProperties, type ResourceShape } from "../utilities";

const shape: ResourceShape = {
  inputs: ["certificateRenewalDuration", "clientConfiguration", "endpoint", "node", "timeouts"],
  required: ["clientConfiguration", "node"],
  outputs: ["kubeconfigRaw", "kubernetesClientConfiguration"],
  secrets: ["kubeconfigRaw"],
};

/** Arguments of a kubeconfig. */
export interface KubeconfigArgs {
  /** How long before its end the certificate is renewed, a Go duration. Default: `720h`. */
  certificateRenewalDuration?: pulumi.Input<string | undefined>;
  /** Client certificate of the machine API. */
  clientConfiguration: pulumi.Input<inputs.cluster.KubeconfigClientConfiguration>;
  /** Machine to ask; it forwards to `node`. Default: `node`. */
  endpoint?: pulumi.Input<string | undefined>;
  /** Address of a control-plane machine. */
  node: pulumi.Input<string>;
  /** How long creating and updating may take. Default: `10m` each. */
  timeouts?: pulumi.Input<inputs.cluster.KubeconfigTimeouts | undefined>;
}

/** Administrator's kubeconfig of a cluster, issued by a control-plane machine. */
export class Kubeconfig extends pulumi.CustomResource {
  /** @internal */
  public static readonly __pulumiType = "talos:cluster/kubeconfig:Kubeconfig";

  /** How long before its end the certificate is renewed. */
  declare public readonly certificateRenewalDuration: pulumi.Output<string>;
  /** Client certificate of the machine API. */
  declare public readonly clientConfiguration: pulumi.Output<outputs.cluster.KubeconfigClientConfiguration>;
  /** Machine that was asked. */
  declare public readonly endpoint: pulumi.Output<string>;
  /** The kubeconfig (YAML). Secret. */
  declare public readonly kubeconfigRaw: pulumi.Output<string>;
  /** The kubeconfig's parts: host, certificates, key. */
  declare public readonly kubernetesClientConfiguration: pulumi.Output<outputs.cluster.KubeconfigKubernetesClientConfiguration>;
  /** Address of a control-plane machine. */
  declare public readonly node: pulumi.Output<string>;
  /** How long creating and updating may take. */
  declare public readonly timeouts: pulumi.Output<outputs.cluster.KubeconfigTimeouts | undefined>;

  constructor(name: string, args: KubeconfigArgs, opts: pulumi.CustomResourceOptions = {}) {
    super(
      Kubeconfig.__pulumiType,
      name,
      resourceProperties(shape, args),
      resourceOptions(shape, opts),
    );
  }
}
