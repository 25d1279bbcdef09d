import type { Check } from "./check";
import type { WorkloadsSpec } from "../stack/spec/index";

/** Namespaces that every cluster has. Source: kubernetes v1.36.3, pkg/controlplane/controller/systemnamespaces. */
const given = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** The namespace that each workload makes; undefined where it takes one that is there. One that is missing here does not compile. */
const madeBy: { [W in keyof WorkloadsSpec]-?: (said: NonNullable<WorkloadsSpec[W]>) => string | undefined } = {
  ollama: ({ namespace = "ollama" }) => namespace,
  comfyui: ({ namespace = "comfyui" }) => namespace,
  vllm: ({ namespace }) => (namespace === undefined ? "vllm" : undefined),
  litellm: ({ namespace = "litellm", masterKeySecret }) => (masterKeySecret === undefined ? namespace : undefined),
  pods: (pods) => (Object.values(pods).some(({ namespace }) => namespace === undefined) ? "gpu-pods" : undefined),
};

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
    return (Object.keys(madeBy) as (keyof WorkloadsSpec)[]).flatMap((workload) => {
      const said = spec.workloads?.[workload];
      const namespace = said && (madeBy[workload] as (said: unknown) => string | undefined)(said);
      if (namespace === undefined) return [];
      const field = `workloads.${workload}${workload === "pods" ? "" : ".namespace"}`;
      const other = made.get(namespace);
      made.set(namespace, other ?? `workloads.${workload}`);
      const problem = given.includes(namespace)
        ? `${namespace} is there in every cluster`
        : other && `${namespace} is made by ${other} as well`;
      if (problem === undefined) return [];
      const why = "the workload makes its namespace and takes it away again, so the update fails: it already exists";
      return [{ field, problem, why, remedy: "take a namespace of its own, or leave it out" }];
    });
  },
};
