import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Diagnosis } from "../../../components/diagnosis";
import { inOneLine, type Difference } from "../../../components/diagnosis/unlike/index";
import type { KubernetesObject } from "../../providers/kubernetes/api";
import type { Say } from "../../phases";
import { withPods } from "./pods";
import { nodeName } from "./shape";
import type { Stand } from "./stand";

/** Takes back what was made. */
type Undo = (say: Say) => Promise<void>;

/** What somebody does to a healthy cluster, or what breaks in it. */
export interface Fault {
  id: string;
  title: string;
  /** Whether the doctor names it: its own diagnosis, or what is unlike the plan. */
  shown(differences: readonly Difference[], findings: readonly Diagnosis[]): boolean;
  make(stand: Stand): Promise<Undo>;
}

const says =
  (pattern: RegExp): Fault["shown"] =>
  (differences, findings) =>
    differences.some((one) => pattern.test([inOneLine(one), ...(one.lastWords ?? [])].join("\n"))) ||
    findings.some(({ symptom, cause, evidence }) => pattern.test([symptom, cause, ...evidence].join("\n")));

const applied = { fieldManager: "talos-gpu-cases", force: true, dryRun: false };

const patch = (
  stand: Stand,
  path: string,
  change: unknown,
  contentType = "application/merge-patch+json",
): Promise<unknown> =>
  stand.cluster.api.request({ method: "PATCH", path, body: change, contentType, signal: stand.signal });

/** An object as it was made, without what the server adds. */
function asMade(object: KubernetesObject): KubernetesObject {
  const { status: _s, metadata = {}, ...rest } = object;
  const { uid: _u, resourceVersion: _r, generation: _g, managedFields: _m, creationTimestamp: _c, ...said } = metadata;
  return { ...rest, metadata: said };
}

/** Deletes an object; undone, it is there again. */
async function taken(stand: Stand, object: KubernetesObject): Promise<Undo> {
  const saved = asMade(await stand.cluster.get(object, stand.signal));
  await stand.cluster.delete(object, undefined, stand.signal);
  return async () => {
    const gone = (): Promise<boolean> =>
      stand.cluster.get(object, stand.signal).then(
        () => false,
        () => true,
      );
    await stand.until(30, gone);
    await stand.cluster.apply(saved, { ...applied, signal: stand.signal });
  };
}

const plugin = ({ plan }: Stand): KubernetesObject => ({
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { namespace: plan.kubernetes.release.namespace, name: "nvidia-device-plugin" },
});

/** The pods of the device plugin begin anew. */
async function restarted(stand: Stand): Promise<void> {
  const namespace = stand.plan.kubernetes.release.namespace;
  await stand.lab.kubernetes.core.deleteCollectionNamespacedPod({
    namespace,
    labelSelector: "app.kubernetes.io/name=nvidia-device-plugin",
  });
}

/** Sets a variable of the plugin's container. */
const environment =
  (name: string, value: string) =>
  async (stand: Stand): Promise<Undo> => {
    const path = await stand.cluster.path(plugin(stand));
    const { spec } = asMade(await stand.cluster.get(plugin(stand), stand.signal));
    const { containers } = spec.template.spec as { containers: { name: string; env?: { name: string }[] }[] };
    const [first, ...others] = containers;
    const env = [...(first!.env ?? []).filter((variable) => variable.name !== name), { name, value }];
    await patch(stand, path, { spec: { template: { spec: { containers: [{ ...first, env }, ...others] } } } });
    return async () => {
      await patch(stand, path, { spec: { template: { spec: { containers } } } });
      await restarted(stand); // a new pod does not wait as long as one that crashed
    };
  };

/** Does something in the node's own files, by a pod, before or after which the plugin begins anew. */
const inNode =
  (id: string, folders: Record<string, string>, away: string, back: string, hostPid = false) =>
  async (stand: Stand): Promise<Undo> => {
    const act = (script: string, when: string): Promise<void> =>
      withPods(stand, async (pods) => {
        const { phase, said } = await pods.run(`${id}-${when}`, {
          image: stand.plan.kubernetes.images.powerLimit,
          script,
          folders,
          hostPid,
        });
        if (phase !== "Succeeded") throw new Error(`${id}, ${when}: ${phase}: ${said}`);
      });
    await act(away, "away");
    await restarted(stand);
    return async () => {
      await act(back, "back");
      await restarted(stand);
    };
  };

const node = `/api/v1/nodes/${nodeName}`;
const runtimeClass: KubernetesObject = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  metadata: { name: "nvidia" },
};

/** Ends containerd, which is started again with its configuration as it is now. */
const again = 'for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = containerd ] && kill ${p#/proc/}; done; true';

/** Faults that can be made without changing the card or this computer. */
export const faults: readonly Fault[] = [
  {
    id: "plugin-deleted",
    title: "device plugin deleted",
    shown: says(/DaemonSet of the device plugin: is not in namespace/),
    make: (stand) => taken(stand, plugin(stand)),
  },
  {
    id: "plugin-crashing",
    title: "device plugin crashes",
    shown: says(/invalid --device-list-strategy option/),
    make: environment("DEVICE_LIST_STRATEGY", "by-post"),
  },
  {
    id: "driver-root",
    title: "cdi-cri without a driver root",
    shown: says(/unable to create cdi spec file|driver-root/),
    make: environment("DEVICE_LIST_STRATEGY", "cdi-cri"),
  },
  {
    id: "runtime-class",
    title: "RuntimeClass deleted",
    shown: says(/RuntimeClass nvidia: is not there/),
    make: (stand) => taken(stand, runtimeClass),
  },
  {
    id: "other-handler",
    title: "RuntimeClass with a handler that containerd has not",
    shown: says(/handler/),
    make: async (stand) => {
      const undo = await taken(stand, runtimeClass);
      const other = { ...runtimeClass, handler: "nvidia-not-there" };
      await stand.until(30, () =>
        stand.cluster.get(runtimeClass, stand.signal).then(
          () => false,
          () => true,
        ),
      );
      await stand.cluster.apply(other, { ...applied, signal: stand.signal });
      await restarted(stand);
      return async (say) => {
        await stand.cluster.delete(runtimeClass, undefined, stand.signal);
        await undo(say);
        await restarted(stand);
      };
    },
  },
  {
    id: "handler",
    title: "containerd has no runtime nvidia",
    shown: says(/has no runtime "nvidia"/),
    make: inNode(
      "handler",
      { "/configuration": "/etc/containerd" },
      `cp /configuration/config.toml /configuration/kept; sed -i 's/runtimes\\.nvidia\\([].]\\)/runtimes.away\\1/' /configuration/config.toml; ${again}`,
      `mv /configuration/kept /configuration/config.toml; ${again}`,
      true,
    ),
  },
  {
    id: "nvml",
    title: "the driver's NVML is not there",
    shown: says(/NVML|nvml|libnvidia-ml/),
    make: inNode(
      "nvml",
      { "/libraries": "/usr/local/lib", "/cdi": "/run/cdi" },
      "mkdir /libraries/away; mv /libraries/libnvidia-ml.so* /libraries/away/",
      "mv /libraries/away/libnvidia-ml.so* /libraries/; rm -r /libraries/away",
    ),
  },
  {
    id: "card-gone",
    title: "the card's device is gone",
    shown: says(/nvidia\.com\/gpu|device plugin|not ready/),
    make: inNode(
      "card-gone",
      { "/devices": "/dev" },
      "mkdir /devices/away; for f in /devices/nvidia[0-9]* /devices/nvidiactl; do mv $f /devices/away/; done",
      "mv /devices/away/* /devices/; rm -r /devices/away",
    ),
  },
  {
    id: "taint",
    title: "a taint that nobody tolerates",
    shown: says(/has the taint away:NoSchedule/),
    make: async (stand) => {
      await patch(stand, node, { spec: { taints: [{ key: "away", effect: "NoSchedule" }] } });
      return async () => void (await patch(stand, node, { spec: { taints: null } }));
    },
  },
  {
    id: "label",
    title: "the node's label is gone",
    shown: says(/lacks the label nvidia\.com\/gpu\.present=true/),
    make: async (stand) => {
      await patch(stand, node, { metadata: { labels: { "nvidia.com/gpu.present": null } } });
      return (say) => stand.lookAgain(say); // the label is the stack's: put back by hand, it would stay behind
    },
  },
  {
    id: "staged",
    title: "another configuration staged",
    shown: says(/another configuration staged/),
    make: async (stand) => {
      const { tools, session, spec } = stand.lab;
      const talosctl = (...args: string[]): Promise<unknown> =>
        promisify(execFile)(tools.talosctl, [
          "--talosconfig",
          session.dir("talosconfig"),
          "--nodes",
          spec.machines[nodeName]!.address,
          ...args,
        ]);
      const patched = (mode: string, value: unknown): Promise<unknown> => {
        const change = { machine: { sysctls: { "vm.nr_hugepages": value } } };
        return talosctl("patch", "machineconfig", "--mode", mode, "--patch", JSON.stringify(change));
      };
      await patched("staged", "8");
      return async () => {
        // A patch begins with what is active, so what is staged becomes that first.
        await patched("no-reboot", "8");
        await patched("no-reboot", { $patch: "delete" });
      };
    },
  },
];
