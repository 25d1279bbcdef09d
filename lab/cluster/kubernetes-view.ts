import * as k8s from "@kubernetes/client-node";
import type { MachineRole } from "../../components/recipe";
import { controlPlaneRole } from "../../components/recipe/machine/taints";
import { isReady } from "./node";

/** What the lab looks at in a cluster; it changes nothing. */
export class KubernetesView {
  private constructor(readonly config: k8s.KubeConfig) {}

  static fromFile(file: string): KubernetesView {
    const config = new k8s.KubeConfig();
    config.loadFromFile(file);
    return new KubernetesView(config);
  }

  get core(): k8s.CoreV1Api {
    return this.config.makeApiClient(k8s.CoreV1Api);
  }

  get apps(): k8s.AppsV1Api {
    return this.config.makeApiClient(k8s.AppsV1Api);
  }

  get batch(): k8s.BatchV1Api {
    return this.config.makeApiClient(k8s.BatchV1Api);
  }

  get nodeApi(): k8s.NodeV1Api {
    return this.config.makeApiClient(k8s.NodeV1Api);
  }

  async nodes(): Promise<Record<string, k8s.V1Node>> {
    const { items } = await this.core.listNode();
    return Object.fromEntries(items.map((node) => [node.metadata?.name ?? "", node]));
  }

  /** Devices that drivers publish for claims. */
  async slices(): Promise<k8s.V1ResourceSlice[]> {
    return (await this.config.makeApiClient(k8s.ResourceV1Api).listResourceSlice()).items;
  }

  /**
   * Waits until every node is ready, and a control plane bears Talos' label of its role, which comes a moment after its kubelet: what
   * the lab then notes of the cluster is all of what was there before the stack. It watches the nodes.
   *
   * @param roles of the nodes to wait for, by name.
   * @throws Error naming the nodes that are not, when the limit is over or the signal aborts.
   */
  async nodesReady(
    roles: Readonly<Record<string, MachineRole>>,
    limits: { signal: AbortSignal; limitSeconds: number },
  ): Promise<void> {
    const waiting = new Set(Object.keys(roles));
    const end = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        timer = setTimeout(() => reject(new Error("too late")), limits.limitSeconds * 1000);
        limits.signal.addEventListener("abort", () => reject(limits.signal.reason as Error), { once: true });
        this.watchNodes(end.signal, reject, (node) => {
          const { name = "", labels = {} } = node.metadata ?? {};
          if (isReady(node) && (roles[name] !== "controlplane" || controlPlaneRole in labels)) waiting.delete(name);
          if (waiting.size === 0) resolve();
        });
      });
    } catch (error) {
      const why = `${[...waiting].join(", ")} not ready within ${limits.limitSeconds} s, so nothing can run there`;
      throw new Error(`nodes: ${why}; see machines.log in the lab's folder (--keep keeps it)`, { cause: error });
    } finally {
      clearTimeout(timer);
      end.abort();
    }
  }

  /** Sees every node, and every change of one. The API server ends a watch now and then; another one begins then. */
  private watchNodes(end: AbortSignal, fail: (error: unknown) => void, see: (node: k8s.V1Node) => void): void {
    const follow = (): void => {
      if (end.aborted) return;
      // Without a resource version a watch begins with what is there.
      new k8s.Watch(this.config)
        .watch("/api/v1/nodes", {}, (_type, node: k8s.V1Node) => see(node), follow)
        .then((request) => end.addEventListener("abort", () => request.abort(), { once: true }), fail);
    };
    follow();
  }
}
