import type * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";
import type { Secrets } from "../credentials/access";
import { runProgram } from "../machine/program-resource";
import { MANAGER } from "../clients/kubernetes/manager";
import type { PutBackTask } from "../program/task";
import { isRead } from "./pods";

/** Limit of a look at the objects of one step: a request or two for each. */
const LIMIT = "10m";

/**
 * Effect of a change of the stack's `reconcileToken` on its objects. Pulumi trusts its state: an object that was
 * deleted by hand is "the same" to it, and to update one that is gone is an error of its provider (pulumi-kubernetes,
 * provider/pkg/await/await.go, Update). So our program inspects every object when the token changes. It restores what
 * is gone or changed, by the same field manager and text as Pulumi: what it puts back is Pulumi's.
 *
 * One inspection for each step of the chain, so that the objects that a step needs exist before it. Without a token
 * it inspects nothing.
 */
export const reconciling = (name: string, token: string | undefined, secrets: Secrets) => ({
  token,
  /** @param step Its name, e.g. `prepared`. */
  step: (step: string): Step => new Step(`${name}-reconcile-${step}`, token, secrets),
});

/** The objects of one step. */
class Step {
  private readonly objects: { resource: pulumi.Resource; inputs: Record<string, any> }[] = [];

  constructor(
    private readonly name: string,
    private readonly token: string | undefined,
    private readonly secrets: Secrets,
  ) {}

  /**
   * Options by which an object belongs to the step. Their transformation comes behind those that change what is made.
   */
  with(opts: pulumi.CustomResourceOptions): pulumi.CustomResourceOptions {
    if (this.token === undefined) return opts;
    const note: pulumi.ResourceTransformation = ({ type, resource, props, opts: own }) => {
      // Of what Pulumi leaves as it is, such as the test of a machine that is away, the inputs are not what was made.
      if ((own as pulumi.CustomResourceOptions).ignoreChanges?.includes("*")) return undefined;
      if (!isRead(own) && /^kubernetes:/.test(type) && !/^kubernetes:helm\.sh|Patch$/.test(type))
        this.objects.push({ resource, inputs: props });
      return undefined;
    };
    return { ...opts, transformations: [...(opts.transformations ?? []), note] };
  }

  /** Puts back the objects that were made so far with the step's options; nothing where there are none. */
  putBack({ parent, dependsOn }: pulumi.CustomResourceOptions): command.local.Command | undefined {
    if (this.objects.length === 0) return undefined;
    const objects = this.objects.map(({ resource, inputs }) => {
      // Names that Pulumi gives are known by the resource alone.
      const { metadata } = resource as unknown as { metadata: pulumi.Output<Record<string, any>> };
      return pulumi.all([inputs, metadata]).apply(([planned, made]) => withName(planned, made));
    });
    const task = pulumi
      .all(objects)
      .apply((all) => JSON.stringify({ manager: MANAGER, objects: all } satisfies PutBackTask));
    const { secrets, token: reconcileToken } = this;
    const needs = ["kubeconfig"] as const;
    const use = {
      verb: "put-back",
      task,
      needs,
      secrets,
      limit: LIMIT,
      reconcileToken,
      forgets: true,
    };
    return runProgram(this.name, use, {
      ...(parent && { parent }),
      ...(dependsOn && { dependsOn }),
    });
  }
}

/**
 * Mark of a name that Pulumi gave; without it Pulumi would give a new name (pulumi-kubernetes,
 * provider/pkg/metadata/naming.go).
 */
const autonamed = "pulumi.com/autonamed";

function withName(
  inputs: Record<string, any>,
  made: Record<string, any> | undefined,
): PutBackTask["objects"][number] {
  const { metadata = {}, ...object } = inputs;
  const named =
    metadata.name === undefined
      ? { name: made?.["name"], annotations: { ...metadata.annotations, [autonamed]: "true" } }
      : {};
  return { ...object, metadata: { ...metadata, ...named } } as PutBackTask["objects"][number];
}
