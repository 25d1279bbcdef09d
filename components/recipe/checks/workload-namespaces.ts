import type { Check } from "./check";
import { namespacesMade } from "../stack/workloads/index";

/** Namespaces that every cluster has. Source: kubernetes v1.36.3, pkg/controlplane/controller/systemnamespaces. */
const given = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** No namespace is made by two. */
export const workloadNamespaces: Check = {
  id: "workload-namespaces",
  source: "Kubernetes: a namespace is made once (AlreadyExists); components/workloads",
  find: ({ spec, plan }) => {
    const { release, namespaceLabels } = plan.kubernetes;
    const made = new Map<string, string>(
      namespaceLabels === undefined
        ? []
        : [
            [
              release.namespace,
              `the ${plan.kubernetes.mode === "operator" ? "GPU Operator" : "device plugin"}'s release`,
            ],
          ],
    );
    return namespacesMade(spec).flatMap(({ workload, namespace }) => {
      const field = `${workload.field}${workload.kind === "pods" ? "" : ".namespace"}`;
      const other = made.get(namespace);
      made.set(namespace, other ?? workload.field);
      const problem = given.includes(namespace)
        ? `${namespace} is there in every cluster`
        : other && `${namespace} is made by ${other} as well`;
      if (problem === undefined) return [];
      const why = "the workload creates and deletes its namespace itself, so the update would fail with AlreadyExists";
      return { field, problem, why, remedy: "take a namespace of its own, or leave it out" };
    });
  },
};
