import type * as command from "@pulumi/command";
import * as pulumi from "@pulumi/pulumi";
import type { Secrets } from "../credentials/access";
import { runProgram } from "../machine/program-resource";
import { MANAGER } from "../clients/kubernetes/manager";
import type { PutBackTask } from "../program/task";
import { isRead } from "./pods";

/** Time limit for the check of one step's objects. The check needs one or two requests per object. */
const LIMIT = "10m";

/**
 * Restores the stack's objects if the stack's `reconcileToken` changes. Pulumi trusts its state: it does not notice
 * that an object was deleted, and its provider fails to update such an object (pulumi-kubernetes,
 * provider/pkg/await/await.go, Update). So the machine program checks every object when the token changes. It restores
 * missing or changed objects with Pulumi's field manager and with the inputs that Pulumi would send, so that Pulumi
 * owns the fields.
 *
 * Each step of `gpuStack` has its own check, so that all objects that a step needs exist before the step begins.
 * Without a token nothing is checked.
 */
export const reconciling = (name: string, token: string | undefined, secrets: Secrets) => ({
  token,
  /** @param step Name of the step, e.g. `prepared`. */
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
   * Options that add an object to the step. Their transformation runs after the transformations that change the object,
   * so it records the final inputs.
   */
  with(opts: pulumi.CustomResourceOptions): pulumi.CustomResourceOptions {
    if (this.token === undefined) return opts;
    const recordObject: pulumi.ResourceTransformation = ({
      type,
      resource,
      props,
      opts: ownOpts,
    }) => {
      // For an object that Pulumi leaves unchanged, such as the test of a machine that is away, the inputs differ from
      // the object.
      if ((ownOpts as pulumi.CustomResourceOptions).ignoreChanges?.includes("*")) return undefined;
      if (
        !isRead(ownOpts) &&
        /^kubernetes:/.test(type) &&
        !/^kubernetes:helm\.sh|Patch$/.test(type)
      )
        this.objects.push({ resource, inputs: props });
      return undefined;
    };
    return { ...opts, transformations: [...(opts.transformations ?? []), recordObject] };
  }

  /** Restores the objects that were created with the step's options so far; undefined if there are none. */
  putBack({ parent, dependsOn }: pulumi.CustomResourceOptions): command.local.Command | undefined {
    if (this.objects.length === 0) return undefined;
    const objects = this.objects.map(({ resource, inputs }) => {
      // Only the resource knows a name that Pulumi generates.
      const { metadata } = resource as unknown as { metadata: pulumi.Output<Record<string, any>> };
      return pulumi
        .all([inputs, metadata])
        .apply(([plannedInputs, createdMetadata]) => withName(plannedInputs, createdMetadata));
    });
    const task = pulumi
      .all(objects)
      .apply((planned) =>
        JSON.stringify({ manager: MANAGER, objects: planned } satisfies PutBackTask),
      );
    const { secrets, token: reconcileToken } = this;
    const neededCredentials = ["kubeconfig"] as const;
    const programUse = {
      verb: "put-back",
      task,
      neededCredentials,
      secrets,
      limit: LIMIT,
      reconcileToken,
      forgets: true,
    };
    return runProgram(this.name, programUse, {
      ...(parent && { parent }),
      ...(dependsOn && { dependsOn }),
    });
  }
}

/**
 * Annotation of an object whose name Pulumi generated. If the restored object lacked it, Pulumi would generate a new
 * name (pulumi-kubernetes, provider/pkg/metadata/naming.go).
 */
const autonamed = "pulumi.com/autonamed";

function withName(
  inputs: Record<string, any>,
  createdMetadata: Record<string, any> | undefined,
): PutBackTask["objects"][number] {
  const { metadata = {}, ...object } = inputs;
  const nameFields =
    metadata.name === undefined
      ? {
          name: createdMetadata?.["name"],
          annotations: { ...metadata.annotations, [autonamed]: "true" },
        }
      : {};
  return { ...object, metadata: { ...metadata, ...nameFields } } as PutBackTask["objects"][number];
}
