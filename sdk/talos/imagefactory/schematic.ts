import * as pulumi from "@pulumi/pulumi";
import { resourceOptions, resourceProperties, type ResourceShape } from "../utilities";

const shape: ResourceShape = { inputs: ["schematic"] };

/** Arguments of a schematic. */
export interface SchematicArgs {
  /** Recipe of an image (YAML), e.g. its system extensions. Default: the plain image. */
  schematic?: pulumi.Input<string | undefined>;
}

/**
 * Recipe of an image, registered at the Image Factory. Its `id` is the schematic ID. If `schematic` changes, the
 * provider updates the resource in place and keeps the old `id`: use `replaceOnChanges: ["schematic"]`.
 */
export class Schematic extends pulumi.CustomResource {
  /** @internal */
  public static readonly __pulumiType = "talos:imageFactory/schematic:Schematic";

  /** Recipe of an image (YAML). */
  declare public readonly schematic: pulumi.Output<string | undefined>;

  constructor(name: string, args?: SchematicArgs, opts: pulumi.CustomResourceOptions = {}) {
    super(
      Schematic.__pulumiType,
      name,
      resourceProperties(shape, args),
      resourceOptions(shape, opts),
    );
  }
}
