import type * as pulumi from "@pulumi/pulumi";

/** Options and inputs of an object that Pulumi replaces together with another resource. */
export interface ReplacedWith {
  opts: Pick<pulumi.CustomResourceOptions, "replaceWith">;
  /**
   * Makes an input depend on the other resource; its value stays the same. One object of each provider needs such an
   * input.
   *
   * Pulumi deletes the object as soon as it replaces the other resource. In a stack that bootstraps its cluster, the
   * update registers the Kubernetes provider only later, after the first control plane. For `replaceWith` alone, the
   * engine does not load the provider from the state, so the deletion fails with `unknown provider`. For an object with
   * an input that depends on the replaced resource, the engine loads the provider (pulumi pkg/v3 v3.259.0,
   * resource/deploy/step_generator.go, calculateDependentReplacements;
   * docs/upstream/replace-with-and-its-provider.md).
   */
  dependent: <T>(input: T) => pulumi.Input<T>;
}

/** What an object needs that Pulumi replaces together with `other`. Without `other`, nothing replaces the object. */
export function replacedWith(other: pulumi.Resource | undefined): ReplacedWith {
  if (other === undefined) return { opts: {}, dependent: (input) => input };
  return {
    opts: { replaceWith: [other] },
    dependent: <T>(input: T) => other.urn.apply((): unknown => input) as pulumi.Output<T>,
  };
}
