import * as semver from "semver";
import { isForwardCompatible, newerCuda } from "../facts/cuda";
import { exporterRelease } from "../cluster/exporter";
import type { ClusterSpec } from "../spec/index";
import {
  gpuRequests,
  namespacesMade,
  plannedVolumes,
  type WorkloadKind,
  workloadsOf,
} from "../stack/workloads";
import type { Checks, Found } from "./check";

/**
 * Checks with warnings about workloads and metrics: open servers, volumes that an update would delete, images that need
 * a newer driver, and metrics without pod names.
 */
export const serverChecks = {
  "open-server": {
    severity: "warning",
    rule: "Each running server requires a key, or a NetworkPolicy limits the server's clients",
    source:
      "ollama/ollama, docs/faq.mdx, docs/api.md; comfyanonymous/ComfyUI, server.py (POST /prompt); vllm-project/vllm, docs (--api-key); BerriAI/litellm, docs (master_key)",
    ofFiles: false,
    find: ({ plan: { spec } }) => openServers(spec),
  },
  "volume-namespace": {
    severity: "warning",
    rule: "No volume is in a namespace that another workload creates and deletes",
    source:
      "components/workloads: the workload that creates a namespace also deletes it, with all objects in it",
    ofFiles: false,
    find: ({ spec }) => {
      const makers = new Map(
        namespacesMade(spec).map(({ workload, namespace }) => [namespace, workload.field]),
      );
      return plannedVolumes(spec).map(({ field, namespace }) => {
        const maker = makers.get(namespace);
        return maker !== undefined && maker !== field
          ? {
              field,
              problem: `its volume is in namespace ${namespace}, which ${maker} creates`,
              why: `if you remove ${maker} from the stack, the update deletes the namespace with this volume`,
              remedy: `give ${field} another namespace`,
            }
          : undefined;
      });
    },
  },
  "cuda-compat": {
    severity: "warning",
    rule: "The drivers of data-center cards support the CUDA release of each image, so that no image needs cuda-compat",
    source:
      "docs.nvidia.com/deploy/cuda-compatibility, forward compatibility (data-center cards only)",
    ofFiles: false,
    find: ({ plan: { spec }, machines }) => {
      const images = [
        ...gpuRequests(spec).map(({ field, image }) => ({ field: `${field}.image`, image })),
        { field: "smokeTestImage", image: spec.smokeTestImage },
      ];
      return images.map(({ field, image }) => {
        if (image === undefined) return undefined;
        const older = machines.filter(
          (machine) => newerCuda(image, machine) && isForwardCompatible(machine),
        );
        const drivers = older.map(({ name, driverVersion = "" }) => `${name} (${driverVersion})`);
        const newer = older[0] && newerCuda(image, older[0]);
        return newer
          ? {
              field,
              problem: `its CUDA ${newer.cuda} is too new for the driver of ${drivers.join(", ")}`,
              why: "CUDA then works only on data-center cards, and only if the image has NVIDIA's package cuda-compat",
              remedy: "make sure that the image has cuda-compat, as NVIDIA's own images do",
            }
          : undefined;
      });
    },
  },
  "dashboard-metrics": {
    severity: "warning",
    rule: "The exporter has the metrics that the dashboard shows",
    source:
      "dcgm-exporter 4.9.0, release notes (other names and units; its source was not available)",
    ofFiles: false,
    find: ({ spec, plan: { kubernetes } }) =>
      spec.monitoring !== undefined &&
      spec.monitoring.dashboard !== false &&
      semver.gte(exporterRelease(kubernetes), "4.9.0")
        ? {
            field: "monitoring",
            problem: `the metrics of the DCGM exporter ${exporterRelease(kubernetes)} have other names and units than the dashboard expects`,
            why: "the exporter changed them in 4.9.0, so some panels of the dashboard stay empty",
            remedy: "use an exporter of release 4.8, or write `dashboard: false`",
          }
        : undefined,
  },
  "claim-metrics": {
    severity: "note",
    rule: "The metrics of a card name the pod that uses the card",
    source: "kubelet, pod resources API: it reports only resources of the node to the exporter",
    ofFiles: false,
    find: ({ spec }) =>
      spec.dra !== undefined && spec.monitoring !== undefined
        ? {
            field: "monitoring",
            problem: "the metrics of a card do not name the pod that claims the card",
            why: "the kubelet does not report claims to the exporter",
            remedy: "nothing needs to be done",
          }
        : undefined,
  },
} satisfies Checks;

/**
 * For each kind of server, texts of the finding about a server without a key and without a NetworkPolicy. `can` says
 * what every pod of the cluster can do with this server. `key` is the part of the remedy that sets a key; absent for
 * servers that support no keys.
 */
const open: { [W in WorkloadKind]: { can: string; key?: string } | undefined } = {
  // ollama/ollama, docs/faq.mdx: it has no authentication of its own; docs/api.md: /api/pull, /api/delete.
  ollama: {
    can: "use the server, pull models and delete them",
  },
  // comfyanonymous/ComfyUI, server.py: POST /prompt runs a workflow, for every sender.
  comfyui: {
    can: "run workflows on the server, and see their outputs",
  },
  vllm: {
    can: "use the server",
    key: "set apiKeySecret, and",
  },
  litellm: {
    can: "use the server's models",
    key: "set masterKeySecret, or",
  },
  pods: undefined,
};

/** Findings for the running servers of a stack that every pod of the cluster can use. */
const openServers = (spec: Pick<ClusterSpec, "workloads">): Found =>
  workloadsOf(spec).map(({ kind, field, spec: workload }) => {
    const server = open[kind];
    const { active = true, allowFrom, apiKeySecret, masterKeySecret } = workload as ServerFields;
    const isOpen = allowFrom === undefined && (apiKeySecret ?? masterKeySecret) === undefined;
    return server !== undefined && active && isOpen
      ? {
          field,
          problem: `every pod of the cluster can ${server.can}`,
          why: "clients need no key",
          remedy: `${server.key === undefined ? "" : `${server.key} `}list the namespaces of the clients in ${field}.allowFrom`,
        }
      : undefined;
  });

/** Fields of servers that limit their clients. */
interface ServerFields {
  active?: boolean;
  allowFrom?: string[];
  apiKeySecret?: object;
  masterKeySecret?: string;
}
