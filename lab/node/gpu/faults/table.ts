import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { KubernetesObject } from "../../../kubernetes/cluster";
import { until } from "../../../until";
import { containers, inNode, type Make, plugin, replaced, taken, unlabelled, withRestart, withVariable } from "./break";
import type { Stand } from "../stand";

/** What somebody does to a healthy cluster, or what breaks in it, and what the doctor must say of it. */
export interface Fault {
  /** Name for `--cases`, after `fault-`. */
  id: string;
  title: string;
  make: Make;
  /** Lines of what is unlike the plan, among others: each with the last words of whatever ended. */
  unlike: readonly RegExp[];
  /** Known causes that it names, by the fix. */
  known?: readonly string[];
  /** Whether it was put right by somebody else meanwhile, where that can be: prints something then, run on the node. */
  backIf?: { prints: string; why: string };
  /** Known causes that it may name besides, depending on the cluster. */
  also?: readonly string[];
}

const runtimeClass: KubernetesObject = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  metadata: { name: "nvidia" },
};

const offersNothing = /^node \S+: offers 0 of nvidia\.com\/gpu/;
const pluginNotReady = /^DaemonSet \S+\/nvidia-device-plugin: not ready/;
const driver = "/usr/local/lib";
const containerd = "/etc/containerd/config.toml";

/** Ends containerd, which the node starts again with its configuration as it is now. */
const endContainerd = 'for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = containerd ] && kill ${p#/proc/}; done; true';

/**
 * Faults that can be made without changing the card or this computer. Those after which pods start again come last: their events
 * would tell of what is over.
 */
export const faults: readonly Fault[] = [
  {
    id: "plugin-deleted",
    title: "device plugin deleted",
    make: (scene) => taken(scene, plugin(scene)),
    unlike: [/^DaemonSet of the device plugin: is not in namespace/, offersNothing],
  },
  {
    id: "taint",
    title: "a taint that nobody tolerates",
    make: async (scene) => {
      const path = `/api/v1/nodes/${scene.node}`;
      await scene.cluster.patch(path, { spec: { taints: [{ key: "away", effect: "NoSchedule" }] } });
      return () => scene.cluster.patch(path, { spec: { taints: null } });
    },
    unlike: [/^node \S+: has the taint away:NoSchedule, which GPU pods of the plan do not tolerate/],
  },
  {
    id: "staged",
    title: "another configuration staged",
    make: async (scene) => {
      await patchMachine(scene, "staged", "8");
      return async () => {
        // A patch begins with what is active, so what is staged becomes that first.
        await patchMachine(scene, "no-reboot", "8");
        await patchMachine(scene, "no-reboot", { $patch: "delete" });
      };
    },
    unlike: [/^machine \S+: has another configuration staged for its next boot/],
  },
  {
    id: "label",
    title: "the node's label is gone",
    make: (scene) => unlabelled(scene, "nvidia.com/gpu.present"),
    unlike: [/^node \S+: lacks the label nvidia\.com\/gpu\.present=true/, offersNothing],
    also: ["gpuPresentLabel"], // named where no other node has the label
  },
  {
    id: "runtime-class",
    title: "RuntimeClass deleted",
    make: withRestart((scene) => taken(scene, runtimeClass)),
    unlike: [/^RuntimeClass nvidia: is not there/],
    known: ["runtimeClass"],
  },
  {
    id: "other-handler",
    title: "RuntimeClass with a handler that containerd has not",
    make: withRestart((scene) => replaced(scene, runtimeClass, { ...runtimeClass, handler: "nvidia-not-there" })),
    unlike: [/^RuntimeClass nvidia: has the handler nvidia-not-there, the plan says nvidia/],
    also: ["runtimeHandler", "runtimeClass"],
  },
  {
    id: "card-gone",
    title: "the card's device is gone",
    make: withRestart(
      inNode(
        "mkdir /dev/away; mv /dev/nvidia[0-9]* /dev/nvidiactl /dev/away/",
        "mv /dev/away/* /dev/; rm -r /dev/away",
      ),
    ),
    backIf: {
      prints: "ls /dev/nvidia0 2>/dev/null || true",
      why: "the device is there again: a driver's library makes the files of cards that the kernel has",
    },
    unlike: [offersNothing],
    also: ["driverLibraries", "runtimeHandler"],
  },
  {
    id: "plugin-crashing",
    title: "device plugin crashes",
    make: containers((each) => ({ ...each, env: withVariable(each, "DEVICE_LIST_STRATEGY", "by-post") })),
    unlike: [/^DaemonSet \S+\/nvidia-device-plugin: not ready.*invalid/, offersNothing],
    known: ["deviceListStrategy"],
    also: ["driverLibraries"],
  },
  {
    id: "handler",
    title: "containerd has no runtime nvidia",
    make: withRestart(async (scene) => {
      const undo = async (): Promise<void> => {
        await scene.onNode(`mv /run/kept.toml ${containerd}; ${endContainerd}`);
        await hasRuntime(scene, true);
      };
      await scene.onNode(
        `cp ${containerd} /run/kept.toml; sed -i 's/runtimes\\.nvidia\\([].]\\)/runtimes.away\\1/' ${containerd}; ${endContainerd}`,
      );
      try {
        await hasRuntime(scene, false);
      } catch (error) {
        await undo();
        throw error;
      }
      return undo;
    }),
    unlike: [/^node \S+: its containerd has no runtime "nvidia"/],
    known: ["runtimeHandler"],
  },
  {
    id: "nvml",
    title: "the driver's NVML is not there",
    make: withRestart(
      inNode(
        `mkdir ${driver}/away; mv ${driver}/libnvidia-ml.so* ${driver}/away/; ldconfig`,
        `mv ${driver}/away/* ${driver}/; rm -r ${driver}/away; ldconfig`,
      ),
    ),
    unlike: [offersNothing],
    known: ["driverLibraries"],
  },
  {
    id: "driver-root",
    title: "cdi-cri without a driver root",
    // The chart mounts the driver's root where nvidiaDriverRoot names one: a release that has it by default loses both.
    make: containers(({ volumeMounts = [], ...each }) => ({
      ...each,
      env: withVariable(each, "DEVICE_LIST_STRATEGY", "cdi-cri").filter(({ name }) => name !== "NVIDIA_DRIVER_ROOT"),
      volumeMounts: volumeMounts.filter(({ mountPath }) => mountPath !== "/driver-root"),
    })),
    unlike: [pluginNotReady, offersNothing],
    known: ["driverRoot"],
    also: ["driverLibraries"],
  },
];

async function patchMachine({ talos, plan, node }: Stand, mode: string, value: unknown): Promise<void> {
  const { address } = plan.machines.find(({ name }) => name === node)!;
  const change = JSON.stringify({ machine: { sysctls: { "vm.nr_hugepages": value } } });
  const where = ["--talosconfig", talos.talosconfig, "--nodes", address];
  await promisify(execFile)(talos.talosctl, [...where, "patch", "machineconfig", "--mode", mode, "--patch", change]);
}

async function hasRuntime({ cluster, node, signal }: Stand, wanted: boolean): Promise<void> {
  const asked = async (): Promise<boolean> => {
    const handlers = (await cluster.nodes())[node]?.status?.runtimeHandlers ?? [];
    return handlers.some(({ name }) => name === "nvidia") === wanted;
  };
  if (!(await until({ seconds: 60, signal }, asked, Boolean)).holds)
    throw new Error(`handler: nvidia is ${wanted ? "not there" : "still there"}`);
}
