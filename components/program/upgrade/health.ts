import { waitOrFail } from "../../clients/clock";
import { isTransient } from "../../clients/failure";
import { limitOf, steadyTime } from "../../recipe/effect/upgrade-phases";
import { formatDuration } from "../../recipe/rules/duration";
import { type Run, upTo } from "./run";

/**
 * Problems of the services and static pods that Kubernetes needs on the machine, e.g. `kubelet not running`. Talos
 * reports them as unmet conditions (talos v1.13.9
 * internal/app/machined/pkg/controllers/runtime/machine_status.go). Other services, and pods of users, do not count.
 * The node's condition Ready does not count either: it stays true for a while after the kubelet has stopped
 * (kube-controller-manager, `--node-monitor-grace-period`), and a cluster without CNI has no ready node.
 *
 * If no API server of the cluster answers, a failed one is not among them: the kubelet asks an API server whether Talos
 * may list the pods. Talos cannot refresh the statuses of static pods then (seen on v1.13.9), and keeps the old ones
 * (internal/app/machined/pkg/controllers/k8s/kubelet_static_pod.go). `answersKubernetes` covers this case.
 */
export function failedParts(unmet: readonly string[]): string[] {
  return unmet.flatMap((condition) => {
    const [, kind, reasons = ""] = /^(services|staticPods): (.*)$/s.exec(condition) ?? [];
    return reasons
      .split(", ")
      .filter((reason) =>
        kind === "services"
          ? !reason.startsWith("ext-")
          : /^kube-system\/kube-(apiserver|controller-manager|scheduler)-/.test(reason),
      );
  });
}

/**
 * Whether an API server of the cluster answers, even if it refuses the request. True without credentials for
 * Kubernetes.
 */
const answersKubernetes = async ({ cluster, task }: Run): Promise<boolean> =>
  cluster === undefined ||
  (await cluster.node(task.machine).then(
    () => true,
    (error: unknown) => !isTransient(error),
  ));

/**
 * Called after a change of the machine's configuration that took effect without a reboot. Waits until the machine has
 * run for a while without a failed part (`failedParts`). After a change of a control plane, the Kubernetes API must also
 * answer. Talos checks neither the flags of the kubelet nor those of the
 * control plane. A kubelet with a wrong flag fails at once, but an API server only when the kubelet restarts it.
 *
 * @throws Failure at the limit. The update then does not change the machines that come after this one.
 */
export async function awaitHealth(run: Run): Promise<void> {
  const { task, machine, clock, poll, limits } = run;
  const time = steadyTime(limits);
  const limit = limitOf("health", limits);
  let healthySince: number | undefined;
  let lastFailed: string | undefined;
  const look = async (): Promise<{ done: true } | { not: string }> => {
    const since = healthySince;
    healthySince = undefined;
    const failed = failedParts((await machine.status()).unmet);
    if (task.role === "controlplane" && !(await answersKubernetes(run)))
      failed.push("the Kubernetes API does not answer");
    if (failed.length > 0) {
      lastFailed = failed.join(", ");
      return { not: lastFailed };
    }
    healthySince = since ?? clock.now();
    const healthyTime = clock.now() - healthySince;
    return healthyTime >= time ? { done: true } : { not: "healthy, but not for long enough yet" };
  };
  await run.phases.run(
    "health",
    `waiting ${upTo(limit)} until kubelet and control plane have run for ${formatDuration(time)} with the new configuration`,
    () =>
      waitOrFail(clock, { limit, poll, look }, (_, last) => ({
        field: `machines.${task.machine}`,
        problem: `its configuration changed without a reboot, and since then: ${lastFailed ?? last} (after ${formatDuration(limit)})`,
        why: "the kubelet or a component of the control plane may not accept the new configuration. The update stopped before it changed the next machine",
        remedy: `look at \`talosctl -n ${task.address} services\`, \`talosctl -n ${task.address} logs kubelet\`${task.role === "controlplane" ? ` and \`talosctl -n ${task.address} containers --kubernetes\`` : ""}, correct the setting in the stack, and run again`,
      })),
  );
}
