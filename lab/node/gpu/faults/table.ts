import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import type { KubernetesObject } from "../../../kubernetes/cluster";
import { until } from "../../../until";
import {
  changeContainers,
  changeNodeFiles,
  type MakeFault,
  pluginDaemonSet,
  replaceObject,
  deleteObject,
  removeLabel,
  withRestart,
  withVariable,
} from "./break";
import type { GpuLab } from "../gpu-lab";

/** Faults: a user's action on a healthy cluster or a part that breaks, and the report that the doctor must give. */
export interface Fault {
  /** Name for `--cases`, after `fault-`. */
  id: string;
  title: string;
  make: MakeFault;
  /**
   * Expected differences from the plan, as patterns of lines; the report may have more. Each includes the last message
   * of a container that ended.
   */
  differences: readonly RegExp[];
  /** Known causes that it names, by the fix. */
  causes?: readonly string[];
  /** Command on the node that prints something if another program has repaired the fault; absent if none can. */
  repairedIf?: { command: string; reason: string };
  /** Further known causes that it may name, depending on the cluster. */
  allowedCauses?: readonly string[];
}

const runtimeClass: KubernetesObject = {
  apiVersion: "node.k8s.io/v1",
  kind: "RuntimeClass",
  metadata: { name: "nvidia" },
};

const driverFolder = "/usr/local/lib";
const containerdConfig = "/etc/containerd/config.toml";

/** Ends containerd, which the node starts again with the present configuration. */
const killContainerd =
  'for p in /proc/[0-9]*; do [ "$(cat $p/comm)" = containerd ] && kill ${p#/proc/}; done; true';

/** Functions that make the faults, by name. */
const makers: Record<string, MakeFault> = {
  "plugin-deleted": (gpuLab) => deleteObject(gpuLab, pluginDaemonSet(gpuLab)),
  taint: async (gpuLab) => {
    const path = `/api/v1/nodes/${gpuLab.node}`;
    await gpuLab.cluster.patch(path, { spec: { taints: [{ key: "away", effect: "NoSchedule" }] } });
    return () => gpuLab.cluster.patch(path, { spec: { taints: null } });
  },
  staged: async (gpuLab) => {
    await patchMachine(gpuLab, "staged", "8");
    return async () => {
      // A patch starts from the active configuration, so the staged one is applied first.
      await patchMachine(gpuLab, "no-reboot", "8");
      await patchMachine(gpuLab, "no-reboot", { $patch: "delete" });
    };
  },
  label: (gpuLab) => removeLabel(gpuLab, "nvidia.com/gpu.present"),
  "runtime-class": withRestart((gpuLab) => deleteObject(gpuLab, runtimeClass)),
  "other-handler": withRestart((gpuLab) =>
    replaceObject(gpuLab, runtimeClass, { ...runtimeClass, handler: "nvidia-not-there" }),
  ),
  "card-gone": withRestart(
    changeNodeFiles(
      "mkdir /dev/away; mv /dev/nvidia[0-9]* /dev/nvidiactl /dev/away/",
      "mv /dev/away/* /dev/; rm -r /dev/away",
    ),
  ),
  "plugin-crashing": changeContainers((container) => ({
    ...container,
    env: withVariable(container, "DEVICE_LIST_STRATEGY", "by-post"),
  })),
  handler: withRestart(async (gpuLab) => {
    const undo = async (): Promise<void> => {
      await gpuLab.onNode(`mv /run/kept.toml ${containerdConfig}; ${killContainerd}`);
      await waitForRuntime(gpuLab, true);
    };
    await gpuLab.onNode(
      `cp ${containerdConfig} /run/kept.toml; sed -i 's/runtimes\\.nvidia\\([].]\\)/runtimes.away\\1/' ${containerdConfig}; ${killContainerd}`,
    );
    try {
      await waitForRuntime(gpuLab, false);
    } catch (error) {
      await undo();
      throw error;
    }
    return undo;
  }),
  nvml: withRestart(
    changeNodeFiles(
      `mkdir ${driverFolder}/away; mv ${driverFolder}/libnvidia-ml.so* ${driverFolder}/away/; ldconfig`,
      `mv ${driverFolder}/away/* ${driverFolder}/; rm -r ${driverFolder}/away; ldconfig`,
    ),
  ),
  // The chart mounts the driver's root if nvidiaDriverRoot names one. A release with a default root loses both.
  "driver-root": changeContainers(({ volumeMounts = [], ...container }) => ({
    ...container,
    env: withVariable(container, "DEVICE_LIST_STRATEGY", "cdi-cri").filter(
      ({ name }) => name !== "NVIDIA_DRIVER_ROOT",
    ),
    volumeMounts: volumeMounts.filter(({ mountPath }) => mountPath !== "/driver-root"),
  })),
};

/** Faults that can be made without changing the card or this computer, in the order of faults.yaml. */
export const faults: readonly Fault[] = (
  parse(readFileSync(path.join(__dirname, "faults.yaml"), "utf8")) as (Omit<
    Fault,
    "make" | "differences"
  > & {
    differences: string[];
  })[]
).map(({ differences, ...fault }) => ({
  ...fault,
  differences: differences.map((pattern) => new RegExp(pattern)),
  make: makers[fault.id]!,
}));

async function patchMachine(
  { talos, plan, node }: GpuLab,
  mode: string,
  value: unknown,
): Promise<void> {
  const { address } = plan.machines.find(({ name }) => name === node)!;
  const change = JSON.stringify({ machine: { sysctls: { "vm.nr_hugepages": value } } });
  const connection = ["--talosconfig", talos.talosconfig, "--nodes", address];
  await promisify(execFile)(talos.talosctl, [
    ...connection,
    "patch",
    "machineconfig",
    "--mode",
    mode,
    "--patch",
    change,
  ]);
}

/** Waits until the kubelet reports the runtime `nvidia` (`expected`), or no longer reports it. */
async function waitForRuntime({ cluster, node, signal }: GpuLab, expected: boolean): Promise<void> {
  const isAsExpected = async (): Promise<boolean> => {
    const handlers = (await cluster.nodes())[node]?.status?.runtimeHandlers ?? [];
    return handlers.some(({ name }) => name === "nvidia") === expected;
  };
  if (!(await until({ seconds: 60, signal }, isAsExpected, Boolean)).holds)
    throw new Error(`handler: nvidia is ${expected ? "not there" : "still there"}`);
}
