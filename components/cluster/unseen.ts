import { AsyncResource } from "node:async_hooks";
import * as pulumi from "@pulumi/pulumi";
import { reasonForNoAnswer } from "../lookups/ask-cluster";
import { hooksAreThere } from "../pulumi/hooks";
import { renderFinding } from "../recipe";
import { PATIENCE } from "./preflight";

/**
 * Makes a preview warn if its cluster does not answer. Such a preview shows every object as new, and the update would
 * wait for the cluster and then fail. The returned function adds a hook to a resource's options. The hook contacts the
 * cluster only in a preview, and only if the preview creates or changes a resource with the hook.
 *
 * @param kubeconfig the argument of the component.
 * @param reasonOf finds the reason why the cluster does not answer; undefined if it answers.
 */
export function warnIfClusterUnreachable(
  name: string,
  kubeconfig: unknown,
  reasonOf = reasonForNoAnswer,
): <T extends pulumi.ResourceOptions>(opts: T) => T {
  if (!pulumi.runtime.isDryRun() || !hooksAreThere("registerResourceHook")) return (opts) => opts;
  let pendingWarning: Promise<void> | undefined;
  const warnIfUnreachable = async (): Promise<void> => {
    const reason = await reasonOf(kubeconfig);
    if (reason !== undefined) void pulumi.log.warn(unreachableWarning(reason));
  };
  // Each inline program of a process has its own asynchronous store; the engine calls the hook outside of it.
  const warnOnce = AsyncResource.bind(() => (pendingWarning ??= warnIfUnreachable()));
  const hook = new pulumi.ResourceHook(`${name}-unseen`, warnOnce, { onDryRun: true });
  const hooks = { beforeCreate: [hook], beforeUpdate: [hook] };
  return <T extends pulumi.ResourceOptions>(opts: T): T =>
    pulumi.mergeOptions(opts, { hooks }) as T;
}

/** Message of a preview about a cluster that does not answer. */
export const unreachableWarning = (reason: string): string =>
  renderFinding({
    field: "kubeconfig",
    problem: `the cluster did not answer (${reason})`,
    why: `this preview cannot show which objects already exist, and the update first waits up to ${PATIENCE} for the cluster`,
    remedy:
      "check the URL, the credentials, and that a control plane is up (`talosctl service kubelet`, `talosctl dmesg`)",
  });
