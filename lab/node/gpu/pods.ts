import type { KubernetesObject } from "../../kubernetes/cluster";
import { gpuProviders } from "../../../components/recipe/facts/gpu-provider";
import { nodeName } from "./shape";
import type { GpuLab } from "./gpu-lab";

/** A pod of a case. */
export interface PodSpec {
  image: string;
  /** Shell script. The case reads the text that it writes to /dev/termination-log. */
  script: string;
  runtimeClass?: string;
  limits?: Record<string, string>;
  /** CEL conditions for the card that it claims. */
  claim?: readonly string[];
  annotations?: Record<string, string>;
  /** Default: `default`; for a pod with folders, a namespace that allows them. */
  namespace?: string;
  /** Script of a second container of the same image, which requests no card. */
  secondScript?: string;
  /** Folders of the node, by their path in the pod. Such a pod is privileged. */
  folders?: Record<string, string>;
}

/** A pod that has ended or reached its time limit. */
export interface PodResult {
  phase: string;
  /** Output of its script, or the reason why it did not run. */
  output: string;
  /** Output of the second container's script, or the reason why it did not run. */
  secondOutput: string;
  uid: string;
  finishedAt?: number;
}

/** Talos enforces Pod Security `baseline` in every namespace except kube-system. */
const namespaceOf = ({
  folders,
  namespace = folders === undefined ? "default" : "kube-system",
}: PodSpec): string => namespace;
const fieldManager = "talos-gpu-cases";

function claimOf(name: string, { claim = [] }: PodSpec): KubernetesObject {
  const selectors = claim.map((expression) => ({ cel: { expression } }));
  const exactly = { deviceClassName: gpuProviders.dra.deviceClass, selectors };
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceClaim",
    metadata: { name, namespace: "default" },
    spec: { devices: { requests: [{ name: "gpu", exactly }] } },
  };
}

function podOf(name: string, spec: PodSpec): KubernetesObject {
  const {
    image,
    script,
    runtimeClass,
    limits,
    claim,
    secondScript,
    annotations,
    folders = {},
  } = spec;
  const resources = { ...(limits && { limits }), ...(claim && { claims: [{ name: "gpus" }] }) };
  const container = (containerName: string, command: string) => ({
    name: containerName,
    image,
    command: ["sh", "-c", command],
    terminationMessagePolicy: "FallbackToLogsOnError",
  });
  const volumes = Object.entries(folders).map(([podPath, nodePath], index) => ({
    podPath,
    nodePath,
    name: `folder-${index}`,
  }));
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: namespaceOf(spec),
      ...(annotations === undefined ? {} : { annotations }),
      labels: { "app.kubernetes.io/part-of": fieldManager },
    },
    spec: {
      restartPolicy: "Never",
      nodeSelector: { "kubernetes.io/hostname": nodeName },
      tolerations: [{ operator: "Exists" }],
      terminationGracePeriodSeconds: 1,
      automountServiceAccountToken: false,
      ...(runtimeClass === undefined ? {} : { runtimeClassName: runtimeClass }),
      ...(claim && { resourceClaims: [{ name: "gpus", resourceClaimName: name }] }),
      containers: [
        {
          ...container("main", script),
          resources,
          ...(volumes.length === 0 ? {} : { securityContext: { privileged: true } }),
          volumeMounts: volumes.map(({ name: volume, podPath }) => ({
            name: volume,
            mountPath: podPath,
          })),
        },
        ...(secondScript === undefined ? [] : [container("second", secondScript)]),
      ],
      volumes: volumes.map(({ name: volume, nodePath }) => ({
        name: volume,
        hostPath: { path: nodePath },
      })),
    },
  };
}

/** Pods of a case, and their claims, which are deleted with the case. */
export class Pods {
  private readonly pods = new Map<string, KubernetesObject>();
  private claims: KubernetesObject[] = [];

  constructor(private readonly gpuLab: GpuLab) {}

  async start(name: string, spec: PodSpec): Promise<void> {
    const pod = podOf(name, spec);
    const claims = spec.claim === undefined ? [] : [claimOf(name, spec)];
    this.pods.set(name, pod);
    this.claims.push(...claims);
    for (const object of [...claims, pod])
      await this.gpuLab.cluster.apply(object, { fieldManager, force: true });
  }

  async read(name: string): Promise<PodResult> {
    const pod = await this.gpuLab.cluster.get(this.pods.get(name)!);
    const {
      phase = "Unknown",
      reason,
      message,
      conditions = [],
      containerStatuses,
    } = pod["status"] as Status;
    const containerState = (container: string) =>
      containerStatuses?.find((containerStatus) => containerStatus.name === container)?.state ?? {};
    const { terminated, waiting } = containerState("main");
    const notScheduled = conditions.find(
      ({ type, status }) => type === "PodScheduled" && status === "False",
    );
    const output =
      terminated?.message ??
      waiting?.message ??
      waiting?.reason ??
      notScheduled?.message ??
      [reason, message].filter(Boolean).join(": ");
    return {
      phase,
      output: output.trim(),
      secondOutput: containerState("second").terminated?.message?.trim() ?? "",
      uid: pod.metadata?.uid ?? "",
      ...(terminated?.finishedAt === undefined
        ? {}
        : { finishedAt: Date.parse(terminated.finishedAt) }),
    };
  }

  /** Waits for a pod's end, at most for a limit in seconds, and gives its state. */
  async waitForEnd(name: string, seconds: number): Promise<PodResult> {
    let result = await this.read(name);
    await this.gpuLab.waitFor(seconds, async () => {
      result = await this.read(name);
      return result.phase === "Succeeded" || result.phase === "Failed";
    });
    return result;
  }

  async run(name: string, spec: PodSpec, seconds = 180): Promise<PodResult> {
    await this.start(name, spec);
    return this.waitForEnd(name, seconds);
  }

  async remove(): Promise<void> {
    const objects = [...this.pods.values(), ...this.claims];
    for (const object of objects) await this.gpuLab.cluster.delete(object);
    const isGone = (object: KubernetesObject): Promise<boolean> =>
      this.gpuLab.cluster.isGone(object);
    await this.gpuLab.waitFor(60, async () =>
      (await Promise.all(objects.map(isGone))).every(Boolean),
    );
    this.pods.clear();
    this.claims = [];
  }
}

interface Status {
  phase?: string;
  reason?: string;
  message?: string;
  conditions?: { type: string; status: string; message?: string }[];
  containerStatuses?: {
    name: string;
    state?: {
      terminated?: { message?: string; finishedAt?: string };
      waiting?: { message?: string; reason?: string };
    };
  }[];
}

/** Runs pods, calls a function, and deletes the pods. */
export async function withPods<T>(gpuLab: GpuLab, use: (pods: Pods) => Promise<T>): Promise<T> {
  const pods = new Pods(gpuLab);
  try {
    return await use(pods);
  } finally {
    await pods.remove();
  }
}
