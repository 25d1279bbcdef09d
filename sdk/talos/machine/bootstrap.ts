import * as pulumi from "@pulumi/pulumi";
import type * as inputs from "../types/input";
import type * as outputs from "../types/output";
import { resourceOptions, resourceProperties, type ResourceShape } from "../utilities";

const shape: ResourceShape = {
  inputs: ["clientConfiguration", "endpoint", "node", "timeouts"],
  required: ["node"],
};

/** Arguments of a bootstrap. */
export interface BootstrapArgs {
  /** Client certificate of the machine API. */
  clientConfiguration?: pulumi.Input<inputs.machine.ClientConfiguration | undefined>;
  /** Machine to ask; it forwards to `node`. Default: `node`. */
  endpoint?: pulumi.Input<string | undefined>;
  /** Address of the first control-plane machine. */
  node: pulumi.Input<string>;
  /** How long creating may take. Default: `10m`. */
  timeouts?: pulumi.Input<inputs.machine.BootstrapTimeouts | undefined>;
}

/** Starts a new etcd cluster on one control-plane machine, once in the life of a Talos cluster. */
export class Bootstrap extends pulumi.CustomResource {
  /** @internal */
  public static readonly __pulumiType = "talos:machine/bootstrap:Bootstrap";

  /** Client certificate of the machine API. */
  declare public readonly clientConfiguration: pulumi.Output<
    outputs.machine.ClientConfiguration | undefined
  >;
  /** Machine that was asked. */
  declare public readonly endpoint: pulumi.Output<string>;
  /** Address of the first control-plane machine. */
  declare public readonly node: pulumi.Output<string>;
  /** How long creating may take. */
  declare public readonly timeouts: pulumi.Output<outputs.machine.BootstrapTimeouts | undefined>;

  constructor(name: string, args: BootstrapArgs, opts: pulumi.CustomResourceOptions = {}) {
    super(
      Bootstrap.__pulumiType,
      name,
      resourceProperties(shape, args),
      resourceOptions(shape, opts),
    );
  }
}
