import type * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { checkWorkloadArguments } from "../checked-arguments";
import { classNamed, gpuLimits, podTolerations, unprivileged } from "../kubernetes/pods";
import { comfyUiImage } from "../recipe/facts/cuda";
import { type ComfyUiSpec } from "../recipe/spec/index";
import { comfyui as kind } from "../recipe/stack/workloads/comfyui";
import { accessRules, registeredWith, type ServerAccess } from "./gpu-access";
import { patient } from "./server";
import { storingServer } from "./storing-server";

const { port } = kind.server;

/** Arguments of a ComfyUI server. */
export interface ComfyUiArgs extends ComfyUiSpec, ServerAccess {
  /** Newest CUDA that the driver runs, e.g. `12.8`; chooses the image. Default `12.6`, which every 12.x driver runs. */
  cudaVersion?: string;
}

/**
 * ComfyUI on a GPU: namespace, volume for models and outputs, and the server.
 *
 * Used alone, outside of a GpuCluster, its objects bear no mark of their owner and are not guarded: what an update that was
 * killed has left stands in the next one's way, until it is imported or deleted by hand.
 */
export class ComfyUi extends pulumi.ComponentResource {
  /** URL within the cluster, e.g. `http://comfyui.comfyui.svc:8188`. Resolves once the server is ready. */
  public readonly endpoint: pulumi.Output<string>;

  constructor(name: string, args: ComfyUiArgs, opts?: pulumi.ComponentResourceOptions) {
    checkWorkloadArguments("ComfyUi", name, "comfyui", args, accessRules);
    super("talos-gpu:index:ComfyUi", name, registeredWith(args), opts);
    this.endpoint = storingServer(
      name,
      kind,
      args,
      { storage: "50Gi", pod: (data, readyWithin) => pod(args, data, readyWithin) },
      { parent: this },
    ).endpoint;
    this.registerOutputs({ endpoint: this.endpoint });
  }
}

function pod(
  args: ComfyUiArgs,
  data: k8s.core.v1.PersistentVolumeClaim,
  readyWithin: number,
): pulumi.Input<k8s.types.input.core.v1.PodSpec> {
  const alive = { httpGet: { path: "/system_stats", port: "http" } };
  return {
    runtimeClassName: classNamed(args.runtimeClassName),
    tolerations: podTolerations(args.tolerations),
    ...(args.nodeSelector === undefined ? {} : { nodeSelector: args.nodeSelector }),
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    containers: [
      {
        name: "comfyui",
        image: args.image ?? comfyUiImage(args.cudaVersion ?? "12.6"),
        ports: [{ name: "http", containerPort: port }],
        // The image is made for root: it keeps the program and its data under /root.
        securityContext: { ...unprivileged, runAsUser: 0 },
        resources: { limits: gpuLimits(args.gpuResourceName, args.gpus ?? 1) },
        // The first start copies the program to the volume.
        startupProbe: { ...alive, periodSeconds: 10, failureThreshold: patient(readyWithin, 10) },
        readinessProbe: { ...alive, periodSeconds: 10 },
        // No liveness probe: the queue is in memory, and a restart would lose it.
        volumeMounts: [{ name: "data", mountPath: "/root" }],
      },
    ],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: data.metadata.name } }],
  };
}
