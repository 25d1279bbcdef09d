import type * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";
import { runProgram } from "../machine/program-resource";
import { MANAGER } from "../clients/kubernetes/manager";
import type { PutBackTask } from "../machine/program/task";
import { isRead } from "./pods";

/** Limit of a look at the objects of one step: a request or two for each. */
const LIMIT = "10m";

/**
 * What the stack's word `lookAgain` does to its objects. Pulumi trusts its state: an object that somebody deleted by hand is
 * "the same" to it, and to update one that is gone is an error of its provider (pulumi-kubernetes, provider/pkg/await/await.go,
 * Update). So our program looks at every object when the word is another one, and puts back what is gone or changed, by the
 * same field manager and the same text as Pulumi: what it puts back is Pulumi's.
 *
 * One look for each step of the chain, so that what a step needs is there before it.
 */
export class LookAgain {
  private seen: { resource: pulumi.Resource; inputs: Record<string, any> }[] = [];

  /** @param said The stack's word. */
  constructor(
    private readonly name: string,
    readonly said: string,
    private readonly kubeconfig: pulumi.Input<string> | undefined,
  ) {}

  /** Takes note of every object that is made with it. It comes behind those that change what is made. */
  readonly transformation: pulumi.ResourceTransformation = ({ type, resource, props, opts }) => {
    if (isRead(opts)) return undefined;
    if (/^kubernetes:/.test(type) && !/^kubernetes:helm\.sh|Patch$/.test(type))
      this.seen.push({ resource, inputs: props });
    return undefined;
  };

  /**
   * Looks at the objects that were made since the last step; nothing where there are none.
   *
   * @param step Name of the step, e.g. `prepared`.
   */
  putBack(step: string, { parent, dependsOn }: pulumi.CustomResourceOptions): command.local.Command | undefined {
    if (this.seen.length === 0) return undefined;
    const objects = this.seen.map(({ resource, inputs }) => {
      // Names that Pulumi gives are known by the resource alone.
      const { metadata } = resource as unknown as { metadata: pulumi.Output<Record<string, any>> };
      return pulumi.all([inputs, metadata]).apply(([said, made]) => withName(said, made));
    });
    this.seen = [];
    const task = pulumi
      .all(objects)
      .apply((all) => JSON.stringify({ manager: MANAGER, objects: all } satisfies PutBackTask));
    return runProgram(
      `${this.name}-look-again-${step}`,
      { verb: "put-back", task, kubeconfig: this.kubeconfig, limit: LIMIT, lookAgain: this.said, forgets: true },
      { ...(parent && { parent }), ...(dependsOn && { dependsOn }) },
    );
  }
}

/** Mark of a name that Pulumi gave; without it Pulumi would give another one (pulumi-kubernetes, provider/pkg/metadata/naming.go). */
const autonamed = "pulumi.com/autonamed";

function withName(inputs: Record<string, any>, made: Record<string, any> | undefined): PutBackTask["objects"][number] {
  const { metadata = {}, ...object } = inputs;
  const named =
    metadata.name === undefined
      ? { name: made?.["name"], annotations: { ...metadata.annotations, [autonamed]: "true" } }
      : {};
  return { ...object, metadata: { ...metadata, ...named } } as PutBackTask["objects"][number];
}
