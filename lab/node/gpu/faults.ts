import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Diagnosis } from "../../../components/diagnosis";
import { inOneLine, type Difference } from "../../../components/diagnosis/unlike/index";
import type { KubernetesObject } from "../../providers/kubernetes/api";
import { applied, environment, inNode, patch, plugin, restarted, taken, type Undo } from "./break";
import { withPods } from "./pods";
import { nodeName } from "./shape";
import type { Stand } from "./stand";

/** What somebody does to a healthy cluster, or what breaks in it. */
export interface Fault {
  id: string;
  title: string;
  /** Why it cannot be made with the stand-in of the driver. */
  needsCard?: string;
  /** Whether the doctor names it: its own diagnosis, or what is unlike the plan. */
  shown(differences: readonly Difference[], findings: readonly Diagnosis[]): boolean;
  make(stand: Stand): Promise<Undo>;
}

const says =
  (pattern: RegExp): Fault["shown"] =>
  (differences, findings) =>
    differences.some((one) => pattern.test([inOneLine(one), ...(one.lastWords ?? [])].join("\n"))) ||
    findings.some(({ symptom, cause, evidence }) => pattern.test([symptom, cause, ...evidence].join("\n")));

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
    id: "nvml",
    title: "the driver's NVML is not there",
    needsCard: "the stand-in's library is a mount, which cannot be moved",
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
  {
    id: "handler",
    title: "containerd has no runtime nvidia",
    shown: says(/has no runtime "nvidia"/),
    make: async (stand) => {
      const has = async (wanted: boolean): Promise<void> => {
        const asked = async (): Promise<boolean> => {
          const handlers = (await stand.lab.kubernetes.nodes())[nodeName]?.status?.runtimeHandlers ?? [];
          return handlers.some(({ name }) => name === "nvidia") === wanted;
        };
        if ((await stand.until(60, asked)) === undefined)
          throw new Error(`handler: nvidia is ${wanted ? "not there" : "still there"}`);
      };
      const folders = { "/configuration": "/etc/containerd" };
      const act = (when: string, script: string): Promise<void> =>
        withPods(stand, async (pods) => {
          // What becomes of the pod that ends containerd is nobody's to say; the node tells what came of it.
          await pods.run(`handler-${when}`, {
            image: stand.plan.kubernetes.images.powerLimit,
            script: `${script}; ${again}`,
            folders,
            hostPid: true,
          });
        });
      const file = "/configuration/config.toml";
      await act(
        "away",
        `cp ${file} /configuration/kept; sed -i 's/runtimes\\.nvidia\\([].]\\)/runtimes.away\\1/' ${file}`,
      );
      const undo = async (): Promise<void> => {
        await act("back", `cp /configuration/kept ${file}`);
        await has(true);
        await restarted(stand);
      };
      try {
        await has(false);
        await restarted(stand);
      } catch (error) {
        await undo();
        throw error;
      }
      return undo;
    },
  },
];
