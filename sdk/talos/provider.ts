import * as pulumi from "@pulumi/pulumi";
import { pluginDownloadURL, version } from "./utilities";

/** Arguments of an explicit provider. */
export interface ProviderArgs {
  /** Image Factory that makes schematics. Default: `https://factory.talos.dev`. */
  imageFactoryUrl?: pulumi.Input<string | undefined>;
}

/** An explicit provider, for resources that must not use the stack's default settings. */
export class Provider extends pulumi.ProviderResource {
  /** @internal */
  public static readonly __pulumiType = "talos";

  /** Image Factory that makes schematics. */
  declare public readonly imageFactoryUrl: pulumi.Output<string | undefined>;

  constructor(name: string, args?: ProviderArgs, opts?: pulumi.ResourceOptions) {
    super(
      Provider.__pulumiType,
      name,
      { imageFactoryUrl: args?.imageFactoryUrl },
      pulumi.mergeOptions({ version, pluginDownloadURL }, opts),
    );
  }
}
