import { AsyncResource } from "node:async_hooks";
import * as pulumi from "@pulumi/pulumi";
import { whyUnseen } from "../lookups/ask-cluster";
import { hooksAreThere } from "../pulumi/hooks";
import { renderFinding } from "../recipe";
import { PATIENCE } from "./preflight";

/**
 * Makes a preview say that its cluster does not answer: it then shows every object as new, and the update waits for
 * the cluster and ends. Adds to the options of what a change of the stack changes. So a preview without a change asks
 * nothing, and no update does.
 *
 * @param kubeconfig as the arguments have it.
 * @param why tells why the cluster does not answer; undefined where it does.
 */
export function warnIfUnseen(
  name: string,
  kubeconfig: unknown,
  why = whyUnseen,
): <T extends pulumi.ResourceOptions>(opts: T) => T {
  if (!pulumi.runtime.isDryRun() || !hooksAreThere("registerResourceHook")) return (opts) => opts;
  let asked: Promise<void> | undefined;
  const ask = async (): Promise<void> => {
    const reason = await why(kubeconfig);
    if (reason !== undefined) void pulumi.log.warn(unseen(reason));
  };
  // Of several inline programs in one process each has a store of its own, which the engine's call back would be
  // without.
  const once = AsyncResource.bind(() => (asked ??= ask()));
  const hook = new pulumi.ResourceHook(`${name}-unseen`, once, { onDryRun: true });
  const hooks = { beforeCreate: [hook], beforeUpdate: [hook] };
  return <T extends pulumi.ResourceOptions>(opts: T): T =>
    pulumi.mergeOptions(opts, { hooks }) as T;
}

/** Message of a preview about a cluster that does not answer. */
export const unseen = (reason: string): string =>
  renderFinding({
    field: "kubeconfig",
    problem: `the cluster could not be asked (${reason})`,
    why: `so this preview does not show what is in it already, and the update first waits up to ${PATIENCE} for it`,
    remedy:
      "see whether a control plane is up (`talosctl service kubelet`, `talosctl dmesg`), and whether URL and credentials are right",
  });
