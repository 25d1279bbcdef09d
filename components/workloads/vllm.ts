import type * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { checkWorkloadArguments } from "../checked-arguments";
import { unprivileged } from "../kubernetes/pods";
import { vllmImage } from "../recipe/facts/cuda";
import { type VllmSpec } from "../recipe/spec/index";
import { vllm as kind } from "../recipe/stack/workloads/vllm";
import { vllmSplit } from "../recipe/facts/vllm";
import { accessRules, registeredWith, type ServerAccess } from "./gpu-access";
import { patient } from "./server";
import { type Storing, storingServer } from "./storing-server";

/** Arguments of a vLLM server. */
export interface VllmArgs extends VllmSpec, ServerAccess {
  /** Newest CUDA that the driver runs, e.g. `12.8`; chooses the image. Default `12.4`, which every 12.x driver runs. */
  cudaVersion?: string;
}

/**
 * vLLM on one or more GPUs of a machine: volume for models and compiled graphs, and the server. With several GPUs the model
 * is split over them by tensor parallelism.
 *
 * Used alone, outside of a GpuCluster, its objects bear no mark of their owner and are not guarded: what an update that was
 * killed has left stands in the next one's way, until it is imported or deleted by hand.
 */
export class Vllm extends pulumi.ComponentResource {
  /** Base URL of the OpenAI API within the cluster, e.g. `http://vllm.vllm.svc:8000/v1`. Resolves once the model is served. */
  public readonly endpoint: pulumi.Output<string>;

  constructor(name: string, args: VllmArgs, opts?: pulumi.ComponentResourceOptions) {
    checkWorkloadArguments("Vllm", name, "vllm", args, accessRules);
    super("talos-gpu:index:Vllm", name, registeredWith(args), opts);
    const alive = { httpGet: { path: "/health", port: "http" } };
    const storing: Storing = {
      ...{ storage: "100Gi", mountPath: "/root/.cache" },
      container: (readyWithin) => ({
        image: args.image ?? vllmImage(args.cudaVersion ?? "12.4"),
        command: vllmCommand(args),
        env: tokenOf(args),
        // The image is made for root: it keeps its caches under /root.
        securityContext: { ...unprivileged, runAsUser: 0 },
        // The first start downloads the model and compiles for the card; /health answers once it is loaded.
        startupProbe: { ...alive, periodSeconds: 10, failureThreshold: patient(readyWithin, 10) },
        readinessProbe: { ...alive, periodSeconds: 5 },
        livenessProbe: { ...alive, periodSeconds: 15, timeoutSeconds: 5, failureThreshold: 6 },
      }),
      // A container's own 64 MiB are too few for the processes of tensor parallelism (NCCL).
      beside: {
        volume: { name: "shm", emptyDir: { medium: "Memory", sizeLimit: args.sharedMemory ?? "8Gi" } },
        mountPath: "/dev/shm",
      },
    };
    const vllm = storingServer(name, kind, args, storing, { parent: this });
    this.endpoint = pulumi.interpolate`${vllm.endpoint}/v1`;
    this.registerOutputs({ endpoint: this.endpoint });
  }
}

/** What the container runs: the model, over all GPUs of the pod. */
export function vllmCommand({ model, gpus = 1, args = [] }: VllmSpec): string[] {
  const { tensor } = vllmSplit(args, gpus);
  return ["vllm", "serve", model, ...(tensor === undefined ? [] : [`--tensor-parallel-size=${tensor}`]), ...args];
}

function tokenOf({ huggingFaceToken: token }: VllmSpec): k8s.types.input.core.v1.EnvVar[] {
  return token === undefined
    ? []
    : [{ name: "HF_TOKEN", valueFrom: { secretKeyRef: { name: token.name, key: token.key } } }];
}
