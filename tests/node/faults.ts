import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Found } from "../e2e/support/kubernetes";
import { address, machine, namespace, pluginSet, type Stand, until } from "./stand";

/** What somebody does to a healthy node, what the doctor then says of it, and how it is put right. */
export interface Fault {
  bring: (stand: Stand) => Promise<void>;
  /** Lines of what is unlike the plan, among others. */
  unlike: RegExp[];
  /** Known causes, all of them. */
  known: string[];
  mend: (stand: Stand) => Promise<void>;
}

const node = `/api/v1/nodes/${machine}`;
const runtimeClasses = "/apis/node.k8s.io/v1/runtimeclasses";

/** The plugin's pods are made anew, as after a reboot. */
const renewPods = ({ kubernetes }: Stand): Promise<void> => kubernetes.remove(`/api/v1/namespaces/${namespace}/pods`);

/** Sets the device plugin's strategy, on every node at once. */
function setStrategy(value: string): (stand: Stand) => Promise<void> {
  return async (stand) => {
    await stand.kubernetes.edit(pluginSet, ({ spec }: Found) => {
      for (const container of spec.template.spec.containers) {
        const others = (container.env ?? []).filter(({ name }: Found) => name !== "DEVICE_LIST_STRATEGY");
        container.env = [...others, { name: "DEVICE_LIST_STRATEGY", value }];
      }
    });
    await renewPods(stand);
  };
}

/** What a deleted object was, to be made anew. */
const kept = new Map<string, Found>();

async function take({ kubernetes }: Stand, list: string, name: string): Promise<void> {
  const object = await kubernetes.read(`${list}/${name}`);
  for (const own of ["resourceVersion", "uid", "creationTimestamp", "managedFields"]) delete object.metadata[own];
  delete object.status;
  kept.set(list, object);
  await kubernetes.remove(`${list}/${name}`);
}

const giveBack = ({ kubernetes }: Stand, list: string): Promise<void> => kubernetes.create(list, kept.get(list));

const daemonSets = pluginSet.slice(0, pluginSet.lastIndexOf("/"));
const containerd = "/etc/containerd/config.toml";
const nvml = "/usr/local/lib/libnvidia-ml.so";

/** The ten faults, by what is wrong. Those after which pods are made anew come last: their events would tell of faults that are over. */
export const faults: Record<string, Fault> = {
  "the plugin was deleted": {
    bring: (stand) => take(stand, daemonSets, "nvidia-device-plugin"),
    unlike: [
      new RegExp(`^DaemonSet of the device plugin: is not in namespace ${namespace}`),
      new RegExp(`^node ${machine}: offers 0 of nvidia.com/gpu, the plan says 2`),
    ],
    known: [],
    mend: (stand) => giveBack(stand, daemonSets),
  },
  "the RuntimeClass is missing": {
    bring: async (stand) => {
      await take(stand, runtimeClasses, "nvidia");
      await renewPods(stand);
    },
    unlike: [/^RuntimeClass nvidia: is not there/],
    known: ["runtimeClass"],
    mend: (stand) => giveBack(stand, runtimeClasses),
  },
  "the node is tainted": {
    bring: ({ kubernetes }) => kubernetes.patch(node, { spec: { taints: [{ key: "away", effect: "NoSchedule" }] } }),
    unlike: [new RegExp(`^node ${machine}: has the taint away:NoSchedule, which GPU pods of the plan do not tolerate`)],
    known: [],
    mend: ({ kubernetes }) => kubernetes.patch(node, { spec: { taints: null } }),
  },
  "the node's label is missing": {
    bring: ({ kubernetes }) => kubernetes.patch(node, { metadata: { labels: { "nvidia.com/gpu.present": null } } }),
    unlike: [
      new RegExp(`^node ${machine}: lacks the label nvidia.com/gpu.present=true`),
      new RegExp(`^node ${machine}: offers 0 of nvidia.com/gpu`),
    ],
    known: [],
    mend: ({ kubernetes }) => kubernetes.patch(node, { metadata: { labels: { "nvidia.com/gpu.present": "true" } } }),
  },
  "the card is gone": {
    bring: async (stand) => {
      await stand.onNode("rm /dev/nvidia0");
      await renewPods(stand);
    },
    unlike: [new RegExp(`^node ${machine}: offers 0 of nvidia.com/gpu, the plan says 2`)],
    known: [],
    mend: async (stand) => {
      await stand.onNode("mknod --mode=666 /dev/nvidia0 c 1 3");
      await renewPods(stand);
    },
  },
  "the plugin crashes": {
    bring: setStrategy("volumes"),
    unlike: [
      new RegExp(`^DaemonSet ${namespace}/nvidia-device-plugin: not ready: .*invalid`),
      new RegExp(`^node ${machine}: offers 0 of nvidia.com/gpu`),
    ],
    known: ["deviceListStrategy"],
    mend: setStrategy("envvar"),
  },
  "containerd has no handler": {
    bring: async (stand) => {
      const others = "/runtimes\\.runc\\]/";
      const without = `sed -i '/runtimes\\.nvidia\\]/,${others}{${others}!d}' ${containerd}`;
      await stand.onNode(`cp ${containerd} /run/config.toml; ${without}; pkill -x containerd`);
      const handlers = async (): Promise<string[]> =>
        (await stand.kubernetes.read(node)).status.runtimeHandlers.map(({ name }: Found) => name);
      await until("the node to say so", handlers, (names) => !names.includes("nvidia"));
      await renewPods(stand);
    },
    unlike: [new RegExp(`^node ${machine}: its containerd has no runtime "nvidia"`)],
    known: ["runtimeHandler"],
    mend: async (stand) => {
      await stand.onNode(`cp /run/config.toml ${containerd}; pkill -x containerd`);
    },
  },
  "NVML is missing": {
    bring: async (stand) => {
      await stand.onNode(
        `f=$(ls ${nvml}.*.*); cp $f /run/nvml; echo $f > /run/nvml.name; umount $f; rm $f ${nvml}.1; ldconfig`,
      );
      await renewPods(stand);
    },
    unlike: [new RegExp(`^node ${machine}: offers 0 of nvidia.com/gpu`)],
    known: ["driverLibraries"],
    mend: async (stand) => {
      await stand.onNode("cp /run/nvml $(cat /run/nvml.name); ldconfig");
      await renewPods(stand);
    },
  },
  "the driver's root is wrong": {
    bring: setStrategy("cdi-cri"),
    unlike: [
      new RegExp(`^DaemonSet ${namespace}/nvidia-device-plugin: not ready`),
      new RegExp(`^node ${machine}: offers 0 of nvidia.com/gpu`),
    ],
    known: ["driverRoot"],
    mend: setStrategy("envvar"),
  },
  "another configuration is staged": {
    bring: (stand) => stage(stand, { "vm.nr_hugepages": "8" }),
    unlike: [new RegExp(`^machine ${machine}: has another configuration staged for its next boot`)],
    known: [],
    mend: (stand) => stage(stand, {}),
  },
};

async function stage({ talos }: Stand, sysctls: unknown): Promise<void> {
  const args = ["--talosconfig", talos.config, "--nodes", address, "patch", "machineconfig", "--mode", "staged"];
  await promisify(execFile)(talos.binary, [...args, "--patch", JSON.stringify({ machine: { sysctls } })]);
}
