import * as pulumi from "@pulumi/pulumi";
import type * as inputs from "../types/input";
import type * as outputs from "../types/output";
import { hasType, resourceOptions, resourceProperties, type ResourceShape } from "../utilities";

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

/** Properties by which a known kubeconfig is looked up. */
export interface KubeconfigState {
  /** How long before its end the certificate is renewed. */
  certificateRenewalDuration?: pulumi.Input<string | undefined>;
  /** Client certificate of the machine API. */
  clientConfiguration?: pulumi.Input<inputs.cluster.KubeconfigClientConfiguration | undefined>;
  /** Machine that was asked. */
  endpoint?: pulumi.Input<string | undefined>;
  /** The kubeconfig (YAML). */
  kubeconfigRaw?: pulumi.Input<string | undefined>;
  /** The kubeconfig taken apart. */
  kubernetesClientConfiguration?: pulumi.Input<inputs.cluster.KubeconfigKubernetesClientConfiguration | undefined>;
  /** Address of a control-plane machine. */
  node?: pulumi.Input<string | undefined>;
  /** How long creating and updating may take. */
  timeouts?: pulumi.Input<inputs.cluster.KubeconfigTimeouts | undefined>;
}

/** Administrator's kubeconfig of a cluster, as a control-plane machine issues it. */
export class Kubeconfig extends pulumi.CustomResource {
  /** Looks a known one up by its ID. */
  public static get(
    name: string,
    id: pulumi.Input<pulumi.ID>,
    state?: KubeconfigState,
    opts?: pulumi.CustomResourceOptions,
  ): Kubeconfig {
    return new Kubeconfig(name, state as any, { ...opts, id });
  }

  /** @internal */
  public static readonly __pulumiType = "talos:cluster/kubeconfig:Kubeconfig";

  /** True if the object is such a resource, also one of another copy of this package. */
  public static override isInstance(object: any): object is Kubeconfig {
    return hasType(object, Kubeconfig.__pulumiType);
  }

  /** How long before its end the certificate is renewed. */
  declare public readonly certificateRenewalDuration: pulumi.Output<string>;
  /** Client certificate of the machine API. */
  declare public readonly clientConfiguration: pulumi.Output<outputs.cluster.KubeconfigClientConfiguration>;
  /** Machine that was asked. */
  declare public readonly endpoint: pulumi.Output<string>;
  /** The kubeconfig (YAML). Secret. */
  declare public readonly kubeconfigRaw: pulumi.Output<string>;
  /** The kubeconfig taken apart: host, certificates, key. */
  declare public readonly kubernetesClientConfiguration: pulumi.Output<outputs.cluster.KubeconfigKubernetesClientConfiguration>;
  /** Address of a control-plane machine. */
  declare public readonly node: pulumi.Output<string>;
  /** How long creating and updating may take. */
  declare public readonly timeouts: pulumi.Output<outputs.cluster.KubeconfigTimeouts | undefined>;

  constructor(name: string, args: KubeconfigArgs, opts: pulumi.CustomResourceOptions = {}) {
    super(Kubeconfig.__pulumiType, name, resourceProperties(shape, args, opts), resourceOptions(shape, opts));
  }
}
