import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import type { KubernetesObject } from "../../../kubernetes/cluster";
import { until } from "../../../until";
import {
  containers,
  inNode,
  type Make,
  plugin,
  replaced,
  taken,
  unlabelled,
  withRestart,
  withVariable,
} from "./break";
import type { Stand } from "../stand";

/** Faults: a user's action on a healthy cluster or a part that breaks, and the report that the doctor must give. */
export interface Fault {
  /** Name for `--cases`, after `fault-`. */
  id: string;
  title: string;
  make: Make;
  /**
   * Expected differences from the plan, as patterns of lines; the report may have more. Each includes the last words of
   * a container that ended.
   */
  unlike: readonly RegExp[];
  /** Known causes that it names, by the fix. */
  known?: readonly string[];
  /** Command on the node that prints something if another program has repaired the fault; absent if none can. */
  backIf?: { prints: string; why: string };
  /** Further known causes that it may name, depending on the cluster. */
  also?: readonly string[];
}

const runtimeClass: KubernetesObject = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  metadata: { name: "nvidia" },
};

const driver = "/usr/local/lib";
const containerd = "/etc/containerd/config.toml";

/** Ends containerd, which the node starts again with the present configuration. */
const endContainerd =
  'for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = containerd ] && kill ${p#/proc/}; done; true';

/** Functions that make the faults, by name. */
const makers: Record<string, Make> = {
  "plugin-deleted": (scene) => taken(scene, plugin(scene)),
  taint: async (scene) => {
    const path = `/api/v1/nodes/${scene.node}`;
    await scene.cluster.patch(path, { spec: { taints: [{ key: "away", effect: "NoSchedule" }] } });
    return () => scene.cluster.patch(path, { spec: { taints: null } });
  },
  staged: async (scene) => {
    await patchMachine(scene, "staged", "8");
    return async () => {
      // A patch starts from the active configuration, so the staged one is applied first.
      await patchMachine(scene, "no-reboot", "8");
      await patchMachine(scene, "no-reboot", { $patch: "delete" });
    };
  },
  label: (scene) => unlabelled(scene, "nvidia.com/gpu.present"),
  "runtime-class": withRestart((scene) => taken(scene, runtimeClass)),
  "other-handler": withRestart((scene) =>
    replaced(scene, runtimeClass, { ...runtimeClass, handler: "nvidia-not-there" }),
  ),
  "card-gone": withRestart(
    inNode(
      "mkdir /dev/away; mv /dev/nvidia[0-9]* /dev/nvidiactl /dev/away/",
      "mv /dev/away/* /dev/; rm -r /dev/away",
    ),
  ),
  "plugin-crashing": containers((each) => ({
    ...each,
    env: withVariable(each, "DEVICE_LIST_STRATEGY", "by-post"),
  })),
  handler: withRestart(async (scene) => {
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
  nvml: withRestart(
    inNode(
      `mkdir ${driver}/away; mv ${driver}/libnvidia-ml.so* ${driver}/away/; ldconfig`,
      `mv ${driver}/away/* ${driver}/; rm -r ${driver}/away; ldconfig`,
    ),
  ),
  // The chart mounts the driver's root if nvidiaDriverRoot names one. A release with a default root loses both.
  "driver-root": containers(({ volumeMounts = [], ...each }) => ({
    ...each,
    env: withVariable(each, "DEVICE_LIST_STRATEGY", "cdi-cri").filter(
      ({ name }) => name !== "NVIDIA_DRIVER_ROOT",
    ),
    volumeMounts: volumeMounts.filter(({ mountPath }) => mountPath !== "/driver-root"),
  })),
};

/** Faults that can be made without changing the card or this computer, in the order of faults.yaml. */
export const faults: readonly Fault[] = (
  parse(readFileSync(path.join(__dirname, "faults.yaml"), "utf8")) as (Omit<
    Fault,
    "make" | "unlike"
  > & {
    unlike: string[];
  })[]
).map(({ unlike, ...fault }) => ({
  ...fault,
  unlike: unlike.map((pattern) => new RegExp(pattern)),
  make: makers[fault.id]!,
}));

async function patchMachine(
  { talos, plan, node }: Stand,
  mode: string,
  value: unknown,
): Promise<void> {
  const { address } = plan.machines.find(({ name }) => name === node)!;
  const change = JSON.stringify({ machine: { sysctls: { "vm.nr_hugepages": value } } });
  const where = ["--talosconfig", talos.talosconfig, "--nodes", address];
  await promisify(execFile)(talos.talosctl, [
    ...where,
    "patch",
    "machineconfig",
    "--mode",
    mode,
    "--patch",
    change,
  ]);
}

async function hasRuntime({ cluster, node, signal }: Stand, wanted: boolean): Promise<void> {
  const asked = async (): Promise<boolean> => {
    const handlers = (await cluster.nodes())[node]?.status?.runtimeHandlers ?? [];
    return handlers.some(({ name }) => name === "nvidia") === wanted;
  };
  if (!(await until({ seconds: 60, signal }, asked, Boolean)).holds)
    throw new Error(`handler: nvidia is ${wanted ? "not there" : "still there"}`);
}
