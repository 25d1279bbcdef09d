import * as pulumi from "@pulumi/pulumi";
import { checkWorkloadArguments } from "../pulumi/checked-arguments";
import { unprivileged } from "../kubernetes/pods";
import { comfyUiImage } from "../recipe/facts/cuda";
import { type ComfyUiSpec } from "../recipe/spec/index";
import { comfyui as kind } from "../recipe/stack/workloads/comfyui";
import { accessRules, registeredWith, type ServerAccess } from "./gpu-access";
import { patienceOf } from "./server";
import { type StorageArgs, storingServer } from "./storing-server";

/** Arguments of a ComfyUI server. */
export interface ComfyUiArgs extends ComfyUiSpec, ServerAccess {
  /**
   * Newest CUDA version that the driver runs, e.g. `12.8`. This version selects the default image. Default: `12.6`,
   * which every 12.x driver runs.
   */
  cudaVersion?: string;
}

/**
 * ComfyUI on a GPU: namespace, volume for models and outputs, and the server.
 *
 * Outside of a GpuCluster, the package does not check whether objects of the same name already exist. If a killed
 * update left such objects, the next update fails until you import or delete them.
 */
export class ComfyUi extends pulumi.ComponentResource {
  /** URL within the cluster, e.g. `http://comfyui.comfyui.svc:8188`. Resolves once the server is ready. */
  public readonly endpoint: pulumi.Output<string>;

  constructor(name: string, args: ComfyUiArgs, opts?: pulumi.ComponentResourceOptions) {
    checkWorkloadArguments("ComfyUi", name, "comfyui", args, accessRules);
    super("talos-gpu:index:ComfyUi", name, registeredWith(args), opts);
    const alive = { httpGet: { path: "/system_stats", port: "http" } };
    const storing: StorageArgs = {
      storage: "50Gi",
      mountPath: "/root",
      container: (readyWithin) => ({
        image: args.image ?? comfyUiImage(args.cudaVersion ?? "12.6"),
        // The image needs root: it has the program and its data under /root.
        securityContext: { ...unprivileged, runAsUser: 0 },
        // The first start copies the program to the volume.
        startupProbe: {
          ...alive,
          periodSeconds: 10,
          failureThreshold: patienceOf(readyWithin, 10),
        },
        readinessProbe: { ...alive, periodSeconds: 10 },
        // No liveness probe: the queue is in memory, and a restart would lose it.
      }),
    };
    this.endpoint = storingServer(name, kind, args, storing, { parent: this }).endpoint;
    this.registerOutputs({ endpoint: this.endpoint });
  }
}
