import * as command from "@pulumi/command";
import type * as pulumi from "@pulumi/pulumi";
import type { Secrets } from "../credentials/access";
import { stackMark } from "../kubernetes/guard";
import { clusterLimits, outlasting } from "../kubernetes/timeouts";
import { runProgram } from "../machine/program-resource";
import { gpuProviderOf } from "../recipe/facts/gpu-provider";
import type { Plan } from "../recipe/types";

/**
 * A resource that Pulumi replaces if the stack changes its kind of GPU provider, or if the new Talos release injects
 * devices in another way. If Pulumi replaces this resource, it also replaces the GPU provider (`replaceWith`): it
 * deletes the old GPU provider before it creates the new one.
 *
 * Every machine waits for this resource, so the migration from Talos 1.12 to 1.13 takes the documented order
 * (siderolabs/docs, upgrading-talos 1.13, "Before upgrade"). Pulumi first deletes device plugin and RuntimeClass, then
 * upgrades the machines, then installs the operator. By default Pulumi deletes old objects last. The device plugin
 * would then still run on the upgraded machines, which it does not support. The deletion of the stack's RuntimeClass
 * `nvidia` would delete the operator's RuntimeClass, which has the same name.
 *
 * If the stack creates the RuntimeClass, this resource first waits until the operator's RuntimeClass of that name is
 * gone. If the class has another owner, this resource fails. If another tool owns the RuntimeClass, this resource only
 * checks it.
 */
export function gpuExposure(
  name: string,
  plan: Plan,
  secrets: Secrets,
  opts: pulumi.CustomResourceOptions,
): pulumi.CustomResource {
  const { injection, mode, runtimeClass } = plan.kubernetes;
  const triggers = [injection, mode];
  const replacedFirst = { ...opts, deleteBeforeReplace: true };
  // A cluster that the stack bootstraps has no such objects yet.
  const isManagedByOthers = runtimeClass.owner === "other" && runtimeClass.name !== "";
  if ((runtimeClass.owner !== "component" && !isManagedByOthers) || plan.spec.bootstrap)
    return new command.local.Command(`${name}-exposure`, { triggers }, replacedFirst); // a placeholder: it runs nothing
  const { release } = clusterLimits(plan.spec.timeouts);
  const task = JSON.stringify({
    runtimeClass: runtimeClass.name,
    mark: stackMark(),
    limit: `${release}s`,
    field: plan.kubernetes.external ? "external" : gpuProviderOf(mode).field,
    ...(isManagedByOthers ? { isExternal: true } : {}),
  });
  const limit = outlasting(release).create;
  const neededCredentials = ["talosconfig", "kubeconfig"] as const;
  const use = {
    verb: "await-free",
    task,
    neededCredentials,
    secrets,
    limit,
    triggers,
    forgets: true,
  };
  return runProgram(`${name}-exposure`, use, replacedFirst);
}
