import type { ClusterSpec } from "./spec/index";
import { type WorkloadKind, workloadsOf } from "./stack/workloads";

/** What every pod of a cluster can do with a server that neither asks for a key nor has a NetworkPolicy, and what ends that. */
const open: { [W in WorkloadKind]: { can: string; remedy: string } | undefined } = {
  // ollama/ollama, docs/faq.mdx: it has no authentication of its own; docs/api.md: /api/pull, /api/delete.
  ollama: {
    can: "use it, pull models and delete them",
    remedy: "name the namespaces that may under",
  },
  // comfyanonymous/ComfyUI, server.py: POST /prompt runs a workflow, for whoever sends it.
  comfyui: {
    can: "run workflows on it, and see its outputs",
    remedy: "name the namespaces that may under",
  },
  vllm: {
    can: "use it",
    remedy: "give it a key (apiKeySecret), and name the namespaces that may under",
  },
  litellm: {
    can: "use its models",
    remedy: "give it a key (masterKeySecret), or name the namespaces that may under",
  },
  pods: undefined,
};

/** A note on each server of a stack that runs, and that every pod of the cluster can use. */
export const openServers = (spec: Pick<ClusterSpec, "workloads">): string[] =>
  workloadsOf(spec).flatMap(({ kind, field, said }) => {
    const server = open[kind];
    const { active = true, allowFrom, apiKeySecret, masterKeySecret } = said as Said;
    const isOpen = allowFrom === undefined && (apiKeySecret ?? masterKeySecret) === undefined;
    if (server === undefined || !active || !isOpen) return [];
    return [
      `${field}: every pod of the cluster can ${server.can}, since it asks for no key; ${server.remedy} ${field}.allowFrom`,
    ];
  });

/** What servers say of their clients. */
interface Said {
  active?: boolean;
  allowFrom?: string[];
  apiKeySecret?: object;
  masterKeySecret?: string;
}
