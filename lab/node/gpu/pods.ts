import type { KubernetesObject } from "../../kubernetes/cluster";
import { gpuProviders } from "../../../components/recipe/facts/gpu-provider";
import { nodeName } from "./shape";
import type { Stand } from "./stand";

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
  beside?: string;
  /** Folders of the node, by their path in the pod. Such a pod is privileged. */
  folders?: Record<string, string>;
}

/** A pod that has ended or reached its time limit. */
export interface Ended {
  phase: string;
  /** Output of its script, or the reason why it did not run. */
  said: string;
  /** Output of the second container's script, or the reason why it did not run. */
  besideSaid: string;
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
  const { image, script, runtimeClass, limits, claim, beside, annotations, folders = {} } = spec;
  const resources = { ...(limits && { limits }), ...(claim && { claims: [{ name: "gpus" }] }) };
  const container = (named: string, command: string) => ({
    name: named,
    image,
    command: ["sh", "-c", command],
    terminationMessagePolicy: "FallbackToLogsOnError",
  });
  const volumes = Object.entries(folders).map(([inside, outside], index) => ({
    inside,
    outside,
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
          volumeMounts: volumes.map(({ name: volume, inside }) => ({
            name: volume,
            mountPath: inside,
          })),
        },
        ...(beside === undefined ? [] : [container("beside", beside)]),
      ],
      volumes: volumes.map(({ name: volume, outside }) => ({
        name: volume,
        hostPath: { path: outside },
      })),
    },
  };
}

/** Pods of a case, and their claims, which are deleted with the case. */
export class Pods {
  private readonly made = new Map<string, KubernetesObject>();
  private claims: KubernetesObject[] = [];

  constructor(private readonly stand: Stand) {}

  async start(name: string, spec: PodSpec): Promise<void> {
    const pod = podOf(name, spec);
    const claims = spec.claim === undefined ? [] : [claimOf(name, spec)];
    this.made.set(name, pod);
    this.claims.push(...claims);
    for (const object of [...claims, pod])
      await this.stand.cluster.apply(object, { fieldManager, force: true });
  }

  async look(name: string): Promise<Ended> {
    const pod = await this.stand.cluster.get(this.made.get(name)!);
    const {
      phase = "Unknown",
      reason,
      message,
      conditions = [],
      containerStatuses,
    } = pod["status"] as Status;
    const stateOf = (container: string) =>
      containerStatuses?.find((each) => each.name === container)?.state ?? {};
    const { terminated, waiting } = stateOf("main");
    const scheduled = conditions.find(
      ({ type, status }) => type === "PodScheduled" && status === "False",
    );
    const said =
      terminated?.message ??
      waiting?.message ??
      waiting?.reason ??
      scheduled?.message ??
      [reason, message].filter(Boolean).join(": ");
    return {
      phase,
      said: said.trim(),
      besideSaid: stateOf("beside").terminated?.message?.trim() ?? "",
      uid: pod.metadata?.uid ?? "",
      ...(terminated?.finishedAt === undefined
        ? {}
        : { finishedAt: Date.parse(terminated.finishedAt) }),
    };
  }

  /** Waits for a pod's end, at most for a limit in seconds, and gives its state. */
  async ended(name: string, seconds: number): Promise<Ended> {
    let last = await this.look(name);
    await this.stand.until(seconds, async () => {
      last = await this.look(name);
      return last.phase === "Succeeded" || last.phase === "Failed";
    });
    return last;
  }

  async run(name: string, spec: PodSpec, seconds = 180): Promise<Ended> {
    await this.start(name, spec);
    return this.ended(name, seconds);
  }

  async remove(): Promise<void> {
    const made = [...this.made.values(), ...this.claims];
    for (const pod of made) await this.stand.cluster.delete(pod);
    const gone = (pod: KubernetesObject): Promise<boolean> => this.stand.cluster.isGone(pod);
    await this.stand.until(60, async () => (await Promise.all(made.map(gone))).every(Boolean));
    this.made.clear();
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
export async function withPods<T>(stand: Stand, act: (pods: Pods) => Promise<T>): Promise<T> {
  const pods = new Pods(stand);
  try {
    return await act(pods);
  } finally {
    await pods.remove();
  }
}
