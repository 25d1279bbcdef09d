import type * as pulumi from "@pulumi/pulumi";

/**
 * A text that resolves once the resource is made, and depends on it. Unlike an output of the resource it is known at
 * preview, so a reader of the preview sees what will be done with it.
 */
export function once(resource: pulumi.Resource, value: string): pulumi.Output<string> {
  return resource.urn.apply(() => value);
}
