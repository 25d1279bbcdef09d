import type * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { checkWorkloadArguments } from "../pulumi/checked-arguments";
import { envList, secretVariable, unprivileged } from "../kubernetes/pods";
import { vllmImage } from "../recipe/facts/cuda";
import { type VllmSpec } from "../recipe/spec/index";
import { vllm as kind } from "../recipe/stack/workloads/vllm";
import { masterPort, vllmSplit } from "../recipe/facts/vllm";
import { fabricCheck } from "./fabric";
import { accessRules, registeredWith, type ServerAccess } from "./gpu-access";
import { patienceOf } from "./server";
import { type StorageArgs, storingServer } from "./storing-server";

/** Arguments of a vLLM server. */
export interface VllmArgs extends VllmSpec, ServerAccess {
  /**
   * Newest CUDA version that the driver runs, e.g. `12.8`. This version selects the default image. Default: `12.4`,
   * which every 12.x driver runs; `13.0` if the server has several machines.
   */
  cudaVersion?: string;
}

/**
 * vLLM on one or more GPUs: the server, and a volume for models and compiled graphs. vLLM splits the model over the
 * GPUs of a machine by tensor parallelism, and over several machines by pipeline parallelism, in a LeaderWorkerSet.
 *
 * Outside of a GpuCluster, the package does not check whether objects of the same name already exist. If a killed
 * update left such objects, the next update fails until you import or delete them.
 */
export class Vllm extends pulumi.ComponentResource {
  /**
   * Base URL of the OpenAI API within the cluster, e.g. `http://vllm.vllm.svc:8000/v1`. Resolves once the model is
   * served.
   */
  public readonly endpoint: pulumi.Output<string>;

  constructor(name: string, args: VllmArgs, opts?: pulumi.ComponentResourceOptions) {
    checkWorkloadArguments("Vllm", name, "vllm", args, accessRules);
    super("talos-gpu:index:Vllm", name, registeredWith(args), opts);
    const alive = { httpGet: { path: "/health", port: "http" } };
    const { machines = 1, gpus: cards = 1, fabric } = args;
    const image = args.image ?? vllmImage(args.cudaVersion ?? (machines > 1 ? "13.0" : "12.4"));
    const storing: StorageArgs = {
      storage: "100Gi",
      mountPath: "/root/.cache",
      ...(machines > 1 && {
        group: {
          machines,
          first: (readyWithin) =>
            fabricCheck({ image, cards, limit: patienceOf(readyWithin, 1), ...fabric }),
          follower: [...vllmCommand(args), "--headless"],
        },
      }),
      container: (readyWithin) => ({
        image,
        command: vllmCommand(args),
        env: [...secretsOf(args), ...(machines > 1 ? betweenMachines(fabric?.settings) : [])],
        // The image needs root: it has its caches under /root.
        securityContext: { ...unprivileged, runAsUser: 0 },
        // The first start downloads the model and compiles for the card; /health answers once the model is loaded.
        startupProbe: {
          ...alive,
          periodSeconds: 10,
          failureThreshold: patienceOf(readyWithin, 10),
        },
        readinessProbe: { ...alive, periodSeconds: 5 },
        livenessProbe: { ...alive, periodSeconds: 15, timeoutSeconds: 5, failureThreshold: 6 },
      }),
      // A container's default of 64 MiB is too little for the processes of tensor parallelism (NCCL).
      sharedMount: {
        volume: {
          name: "shm",
          emptyDir: { medium: "Memory", sizeLimit: args.sharedMemory ?? "8Gi" },
        },
        mountPath: "/dev/shm",
      },
    };
    const vllm = storingServer(name, kind, args, storing, { parent: this });
    this.endpoint = pulumi.interpolate`${vllm.endpoint}/v1`;
    this.registerOutputs({ endpoint: this.endpoint });
  }
}

/**
 * Command of the container. The server splits the model over all GPUs of the pod, or of all pods of its group.
 * LeaderWorkerSet sets the environment variables with the pod's index and the leader's address (docs.vllm.ai,
 * parallelism and scaling, "Running vLLM with MultiProcessing"; vllm#23691).
 */
export function vllmCommand(spec: VllmSpec): string[] {
  const { model, machines = 1, args = [] } = spec;
  const group = [
    `--nnodes=${machines}`,
    "--node-rank=$(LWS_WORKER_INDEX)",
    "--master-addr=$(LWS_LEADER_ADDRESS)",
    `--master-port=${masterPort}`,
  ];
  return [
    "vllm",
    "serve",
    model,
    ...vllmSplit(spec).flags,
    ...(machines > 1 ? group : []),
    ...args,
  ];
}

/**
 * Environment variables for a server over several machines: those of NCCL and Gloo, and the address that each pod
 * announces to the others (vllm, utils/network_utils.py, get_ip).
 */
const betweenMachines = (
  settings: Record<string, string> = {},
): k8s.types.input.core.v1.EnvVar[] => [
  { name: "VLLM_HOST_IP", valueFrom: { fieldRef: { fieldPath: "status.podIP" } } },
  ...envList(settings),
];

/**
 * Environment variables with the token for model downloads, and with the API key that clients must send (vllm,
 * vllm/envs.py: HF_TOKEN, VLLM_API_KEY).
 */
const secretsOf = ({
  huggingFaceToken,
  apiKeySecret,
}: VllmSpec): k8s.types.input.core.v1.EnvVar[] => [
  ...secretVariable("HF_TOKEN", huggingFaceToken),
  ...secretVariable("VLLM_API_KEY", apiKeySecret),
];
