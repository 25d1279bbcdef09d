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

/** Checks of workloads and metrics: access by other pods, fit with the driver, later updates. */
export const serverChecks = {
  "open-server": {
    severity: "warning",
    rule: "Each server asks for a key, or a NetworkPolicy limits its clients",
    source:
      "ollama/ollama, docs/faq.mdx, docs/api.md; comfyanonymous/ComfyUI, server.py (POST /prompt); vllm-project/vllm, docs (--api-key); BerriAI/litellm, docs (master_key)",
    ofFiles: false,
    find: ({ plan: { spec } }) => openServers(spec),
  },
  "volume-namespace": {
    severity: "warning",
    rule: "No volume is in a namespace that another workload creates and deletes",
    source:
      "components/workloads: who makes a namespace deletes it, and Kubernetes all that is in it",
    ofFiles: false,
    find: ({ spec }) => {
      const makers = new Map(
        namespacesMade(spec).map(({ workload, namespace }) => [namespace, workload.field]),
      );
      return plannedVolumes(spec).map(({ field, namespace }) => {
        const maker = makers.get(namespace);
        return (
          maker !== undefined &&
          maker !== field && {
            field,
            problem: `its volume is in namespace ${namespace}, which ${maker} makes`,
            why: `an update that takes ${maker} out deletes the namespace and this volume with it`,
            remedy: `give ${field} a namespace of its own`,
          }
        );
      });
    },
  },
  "cuda-compat": {
    severity: "warning",
    rule: "The driver supports the CUDA of each image without the image's package cuda-compat",
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
        return (
          newer && {
            field,
            problem: `its CUDA ${newer.cuda} is newer than the driver of ${drivers.join(", ")}`,
            why: "data-center cards run it where the image has NVIDIA's package cuda-compat, and without it CUDA fails to initialize",
            remedy: "make sure that the image has cuda-compat, as NVIDIA's own images do",
          }
        );
      });
    },
  },
  "dashboard-metrics": {
    severity: "warning",
    rule: "The exporter has the metrics that the dashboard shows",
    source:
      "dcgm-exporter 4.9.0, release notes (other names and units; its source was not to be had)",
    ofFiles: false,
    find: ({ spec, plan: { kubernetes } }) =>
      spec.monitoring !== undefined &&
      spec.monitoring.dashboard !== false &&
      semver.gte(exporterRelease(kubernetes), "4.9.0") && {
        field: "monitoring",
        problem: `the DCGM exporter ${exporterRelease(kubernetes)} has other names and units of its metrics than the dashboard asks for`,
        why: "they changed with 4.9.0, so panels of the dashboard stay empty",
        remedy: "take a 4.8 release, or `dashboard: false`",
      },
  },
  "claim-metrics": {
    severity: "note",
    rule: "The metrics of a card name the pod that uses it",
    source: "kubelet, pod resources API: it tells the exporter of resources of the node",
    ofFiles: false,
    find: ({ spec }) =>
      spec.dra !== undefined &&
      spec.monitoring !== undefined && {
        field: "monitoring",
        problem: "metrics of a card name no pod that has it by a claim",
        why: "the kubelet tells the exporter only of resources of the node",
        remedy: "nothing needs to be done",
      },
  },
} satisfies Checks;

/**
 * Effect of a server without a key and without a NetworkPolicy, which every pod of the cluster can use, and the
 * remedy.
 */
const open: { [W in WorkloadKind]: { can: string; remedy: string } | undefined } = {
  // ollama/ollama, docs/faq.mdx: it has no authentication of its own; docs/api.md: /api/pull, /api/delete.
  ollama: {
    can: "use it, pull models and delete them",
    remedy: "name the namespaces that may under",
  },
  // comfyanonymous/ComfyUI, server.py: POST /prompt runs a workflow, for every sender.
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

/** Each server of a stack that runs, and that every pod of the cluster can use. */
const openServers = (spec: Pick<ClusterSpec, "workloads">): Found =>
  workloadsOf(spec).map(({ kind, field, said }) => {
    const server = open[kind];
    const { active = true, allowFrom, apiKeySecret, masterKeySecret } = said as Said;
    const isOpen = allowFrom === undefined && (apiKeySecret ?? masterKeySecret) === undefined;
    return (
      server !== undefined &&
      active &&
      isOpen && {
        field,
        problem: `every pod of the cluster can ${server.can}`,
        why: "it asks for no key",
        remedy: `${server.remedy} ${field}.allowFrom`,
      }
    );
  });

/** Fields of servers about their clients. */
interface Said {
  active?: boolean;
  allowFrom?: string[];
  apiKeySecret?: object;
  masterKeySecret?: string;
}
