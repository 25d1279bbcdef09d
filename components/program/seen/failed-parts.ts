/**
 * Problems of the services and static pods that Kubernetes needs on the machine, e.g. `kubelet not running`. Talos
 * reports them as unmet conditions (talos v1.13.9
 * internal/app/machined/pkg/controllers/runtime/machine_status.go). Other services, and pods of users, do not count.
 * The node's condition Ready does not count either: it stays true for a while after the kubelet has stopped
 * (kube-controller-manager, `--node-monitor-grace-period`), and a cluster without CNI has no ready node.
 *
 * If no API server of the cluster answers, a failed one is not among them: the kubelet asks an API server whether Talos
 * may list the pods. Talos cannot refresh the statuses of static pods then (seen on v1.13.9), and keeps the old ones
 * (internal/app/machined/pkg/controllers/k8s/kubelet_static_pod.go). For this case, upgrade/health.ts asks the API
 * server itself.
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
