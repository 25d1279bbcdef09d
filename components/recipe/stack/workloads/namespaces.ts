import type { WorkloadsSpec } from "../spec/index";
import type { WorkloadKind } from "./index";

/** The namespace that each workload makes; undefined where it takes one that is there. One that is missing here does not compile. */
const madeBy: { [W in WorkloadKind]: (said: NonNullable<WorkloadsSpec[W]>) => string | undefined } = {
  ollama: ({ namespace = "ollama" }) => namespace,
  comfyui: ({ namespace = "comfyui" }) => namespace,
  vllm: ({ namespace }) => (namespace === undefined ? "vllm" : undefined),
  litellm: ({ namespace = "litellm", masterKeySecret }) => (masterKeySecret === undefined ? namespace : undefined),
  pods: (pods) => (Object.values(pods).some(({ namespace }) => namespace === undefined) ? "gpu-pods" : undefined),
};

/** The namespaces that a stack's workloads make, each with the workload that makes it. */
export function namespacesMade(workloads: WorkloadsSpec = {}): { kind: WorkloadKind; namespace: string }[] {
  return (Object.keys(madeBy) as WorkloadKind[]).flatMap((kind) => {
    const said = workloads[kind];
    const namespace = said && (madeBy[kind] as (said: unknown) => string | undefined)(said);
    return namespace === undefined ? [] : [{ kind, namespace }];
  });
}
