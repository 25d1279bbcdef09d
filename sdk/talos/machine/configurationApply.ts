import * as pulumi from "@pulumi/pulumi";
import type * as inputs from "../types/input";
import type * as outputs from "../types/output";
import { resourceOptions, resourceProperties, type ResourceShape } from "../utilities";

const shape: ResourceShape = {
  inputs: [
    "applyMode",
    "clientConfiguration",
    "configPatches",
    "endpoint",
    "machineConfigurationInput",
    "node",
    "onDestroy",
    "timeouts",
  ],
  required: ["node"],
  outputs: ["machineConfiguration", "machineConfigurationHash", "resolvedApplyMode"],
  secrets: ["machineConfiguration", "machineConfigurationInput"],
};

/** Arguments of an applied machine configuration. */
export interface ConfigurationApplyArgs {
  /** `auto` (default), `reboot`, `no_reboot`, `staged` or `staged_if_needing_reboot`. */
  applyMode?: pulumi.Input<string | undefined>;
  /** Client certificate of the machine API. */
  clientConfiguration?: pulumi.Input<inputs.machine.ClientConfiguration | undefined>;
  /** Patches that are merged into the configuration, in this order, before it is sent. */
  configPatches?: pulumi.Input<pulumi.Input<string>[] | undefined>;
  /** Machine to ask; it forwards to `node`. Default: `node`. */
  endpoint?: pulumi.Input<string | undefined>;
  /** Whole machine configuration (YAML). */
  machineConfigurationInput?: pulumi.Input<string | undefined>;
  /** Address of the machine. */
  node: pulumi.Input<string>;
  /** Changes to the machine when the resource is destroyed. Default: none. */
  onDestroy?: pulumi.Input<inputs.machine.ConfigurationApplyOnDestroy | undefined>;
  /** How long creating, updating and deleting may take. Default: `10m` each. */
  timeouts?: pulumi.Input<inputs.machine.Timeout | undefined>;
}

/**
 * Applies the whole configuration of one machine. The provider never reads it back. Destroying the resource does not
 * change the machine, unless `onDestroy` is set. Two such resources for one machine overwrite each other.
 */
export class ConfigurationApply extends pulumi.CustomResource {
  /** @internal */
  public static readonly __pulumiType = "talos:machine/configurationApply:ConfigurationApply";

  /** Mode of applying. */
  declare public readonly applyMode: pulumi.Output<string>;
  /** Client certificate of the machine API. */
  declare public readonly clientConfiguration: pulumi.Output<
    outputs.machine.ClientConfiguration | undefined
  >;
  /** Patches merged into the configuration. */
  declare public readonly configPatches: pulumi.Output<string[] | undefined>;
  /** Machine that was asked. */
  declare public readonly endpoint: pulumi.Output<string>;
  /** The sent configuration: the input with the patches merged in. Secret. */
  declare public readonly machineConfiguration: pulumi.Output<string>;
  /** SHA-256 of the sent configuration, in hexadecimal. */
  declare public readonly machineConfigurationHash: pulumi.Output<string>;
  /** Whole machine configuration (YAML). Secret. */
  declare public readonly machineConfigurationInput: pulumi.Output<string | undefined>;
  /** Address of the machine. */
  declare public readonly node: pulumi.Output<string>;
  /** Changes to the machine when the resource is destroyed. */
  declare public readonly onDestroy: pulumi.Output<
    outputs.machine.ConfigurationApplyOnDestroy | undefined
  >;
  /** Mode that the provider used: for `staged_if_needing_reboot` it is `auto` or `staged`. */
  declare public readonly resolvedApplyMode: pulumi.Output<string>;
  /** How long each step may take. */
  declare public readonly timeouts: pulumi.Output<outputs.machine.Timeout | undefined>;

  constructor(name: string, args: ConfigurationApplyArgs, opts: pulumi.CustomResourceOptions = {}) {
    super(
      ConfigurationApply.__pulumiType,
      name,
      resourceProperties(shape, args),
      resourceOptions(shape, opts),
    );
  }
}
