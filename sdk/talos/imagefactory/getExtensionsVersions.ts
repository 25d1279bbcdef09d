import * as pulumi from "@pulumi/pulumi";
import type * as inputs from "../types/input";
import type * as outputs from "../types/output";
import { invokeOptions } from "../utilities";

const token = "talos:imageFactory/getExtensionsVersions:getExtensionsVersions";

/** Which extensions to look up. */
export interface GetExtensionsVersionsArgs {
  /** Only extensions of exactly these names. */
  exactFilters?: inputs.imageFactory.GetExtensionsVersionsExactFilters;
  /** Only extensions whose name contains one of these. */
  filters?: inputs.imageFactory.GetExtensionsVersionsFilters;
  /** Talos release, e.g. `v1.12.6`. */
  talosVersion: string;
}

/** Which extensions to look up, from outputs of other resources. */
export interface GetExtensionsVersionsOutputArgs {
  /** Only extensions of exactly these names. */
  exactFilters?: pulumi.Input<inputs.imageFactory.GetExtensionsVersionsExactFiltersArgs | undefined>;
  /** Only extensions whose name contains one of these. */
  filters?: pulumi.Input<inputs.imageFactory.GetExtensionsVersionsFiltersArgs | undefined>;
  /** Talos release. */
  talosVersion: pulumi.Input<string>;
}

/** Official extensions of a Talos release. */
export interface GetExtensionsVersionsResult {
  /** As asked. */
  readonly exactFilters?: outputs.imageFactory.GetExtensionsVersionsExactFilters;
  /** The extensions found. */
  readonly extensionsInfos: outputs.imageFactory.GetExtensionsVersionsExtensionsInfo[];
  /** As asked. */
  readonly filters?: outputs.imageFactory.GetExtensionsVersionsFilters;
  /** Name of the look-up in the provider; without meaning. */
  readonly id: string;
  /** As asked. */
  readonly talosVersion: string;
}

const properties = ({ exactFilters, filters, talosVersion }: GetExtensionsVersionsOutputArgs): pulumi.Inputs => ({
  exactFilters,
  filters,
  talosVersion,
});

/** Looks up which official extensions the Image Factory offers for a Talos release. */
export function getExtensionsVersions(
  args: GetExtensionsVersionsArgs,
  opts?: pulumi.InvokeOptions,
): Promise<GetExtensionsVersionsResult> {
  return pulumi.runtime.invoke(token, properties(args), invokeOptions(opts));
}

/** The same, from outputs of other resources. */
export function getExtensionsVersionsOutput(
  args: GetExtensionsVersionsOutputArgs,
  opts?: pulumi.InvokeOutputOptions,
): pulumi.Output<GetExtensionsVersionsResult> {
  return pulumi.runtime.invokeOutput(token, properties(args), invokeOptions(opts));
}
