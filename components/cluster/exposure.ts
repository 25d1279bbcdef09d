import * as command from "@pulumi/command";
import type * as pulumi from "@pulumi/pulumi";
import type { Secrets } from "../credentials/access";
import { stackMark } from "../kubernetes/guard";
import { clusterLimits, outlasting } from "../kubernetes/timeouts";
import { runProgram } from "../machine/program-resource";
import { gpuProviderOf } from "../recipe/facts/gpu-provider";
import type { Plan } from "../recipe/types";

/**
 * A placeholder for the way in which the cluster offers its GPUs: the Talos era, and operator or device plugin. When
 * that way changes, Pulumi replaces it, and the GPU provider with it (`replaceWith`), old before new.
 *
 * Every machine waits for it, so the migration from Talos 1.12 to 1.13 takes the documented order (siderolabs/docs,
 * upgrading-talos 1.13, "Before upgrade"). First device plugin and RuntimeClass go, then machines are upgraded, then
 * the operator comes. Left to itself Pulumi deletes last. Then the plugin would meet machines that it does not fit.
 * Our RuntimeClass has the name of the operator's, so its deletion would hit that one.
 *
 * If the stack makes the RuntimeClass, it first waits until the operator's class of that name is gone. It fails if
 * another owner has a class of that name. A RuntimeClass of another owner is only checked.
 */
export function gpuExposure(
  name: string,
  plan: Plan,
  secrets: Secrets,
  opts: pulumi.CustomResourceOptions,
): pulumi.CustomResource {
  const { era, mode, runtimeClass } = plan.kubernetes;
  const triggers = [era, mode];
  const first = { ...opts, deleteBeforeReplace: true };
  // A cluster that the stack bootstraps has no earlier objects.
  const theirs = runtimeClass.owner === "other" && runtimeClass.name !== "";
  if ((runtimeClass.owner !== "component" && !theirs) || plan.spec.bootstrap)
    return new command.local.Command(`${name}-exposure`, { triggers }, first); // a placeholder: it runs nothing
  const { release } = clusterLimits(plan.spec.timeouts);
  const task = JSON.stringify({
    runtimeClass: runtimeClass.name,
    mark: stackMark(),
    limit: `${release}s`,
    field: plan.kubernetes.external ? "external" : gpuProviderOf(mode).field,
    ...(theirs ? { theirs } : {}),
  });
  const limit = outlasting(release).create;
  const needs = ["talosconfig", "kubeconfig"] as const;
  const use = { verb: "await-free", task, needs, secrets, limit, triggers, forgets: true };
  return runProgram(`${name}-exposure`, use, first);
}
