import * as command from "@pulumi/command";
import type * as pulumi from "@pulumi/pulumi";
import type { Plan } from "./recipe/types";

/**
 * Stands for the way in which the cluster offers its GPUs: the Talos era and who does it, operator or device plugin. It
 * does nothing but be replaced when that way changes, and what offers the GPUs is replaced with it (`replaceWith`), old
 * before new. Since every machine waits for it, the migration from Talos 1.12 to 1.13 takes the documented order: device
 * plugin and RuntimeClass go, machines are upgraded, the operator comes (siderolabs/docs, upgrading-talos 1.13, "Before
 * upgrade"). Left to itself Pulumi deletes last: the plugin would meet machines it does not fit, and the deletion of our
 * RuntimeClass would hit the operator's of the same name.
 */
export function gpuExposure(name: string, plan: Plan, opts: pulumi.CustomResourceOptions): pulumi.CustomResource {
  const { era, mode } = plan.kubernetes;
  return new command.local.Command(
    `${name}-exposure`,
    { triggers: [era, mode] }, // no command: it only is
    { ...opts, deleteBeforeReplace: true },
  );
}
