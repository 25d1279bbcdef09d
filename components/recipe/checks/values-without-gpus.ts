import { labelledByHand } from "../chart-notes";
import { profileName } from "../facts/sharing";
import type { Check, CheckContext, Found } from "./check";
import { valueAt } from "../mapping";

/** A value with which the chart installs, or fails, and no GPU is ever offered. */
interface Barren {
  /** Path in the release's values. */
  path: string;
  /** What of it is meant; default: this very value. */
  is: unknown;
  /** Whether it counts in this stack. */
  when?: (context: CheckContext) => boolean;
  problem: string;
  why: string;
  remedy?: string;
}

const splits = ({ spec }: CheckContext): boolean =>
  spec.sharing?.mig !== undefined && profileName(spec.sharing.mig.profile) !== "disabled";

const noDra =
  "this package does not build dynamic resource allocation (DRA) yet: its smoke test and workloads request nvidia.com/gpu, which the plugin alone offers, and they would wait in vain";

const operatorRows: Barren[] = [
  {
    path: "driver.enabled",
    is: true,
    problem: "installs NVIDIA's driver by the operator",
    why: "there is no driver image for Talos, which brings the driver as an extension: its pod never starts, and everything waits for it",
  },
  {
    path: "devicePlugin.enabled",
    is: false,
    problem: "turns the device plugin off",
    why: noDra,
    remedy:
      "leave it out; a driver for dynamic resource allocation can run beside the plugin, but must not give out the same cards",
  },
  {
    path: "clusterPolicy.deployCR",
    is: false,
    problem: "leaves the ClusterPolicy out",
    why: "the operator does nothing without one: no device plugin comes, and the node offers no GPU",
  },
  {
    path: "gpuCluster.deployCR",
    is: true,
    problem: "asks for the operator's stack for dynamic resource allocation",
    why: `the chart refuses it together with a ClusterPolicy; ${noDra}`,
  },
  {
    path: "cdi.nriPluginEnabled",
    is: true,
    problem: "needs the operator's container toolkit, whose container holds the NRI plugin",
    why: "on Talos the toolkit is in the image, so the operator's toolkit is off: charts from v26.7 on refuse this value, and older ones start operator pods that never see a card",
  },
  ...["worker", "master"].map((part) => ({
    path: `node-feature-discovery.${part}.enable`,
    is: false,
    when: ({ spec }: CheckContext) => !labelledByHand(Object.values(spec.machines)),
    problem: `turns Node Feature Discovery's ${part} off`,
    why: "the operator finds GPU nodes by its labels alone: without them no operand is placed anywhere",
  })),
  {
    path: "migManager.enabled",
    is: false,
    when: splits,
    problem: "turns the MIG manager off, and sharing.mig wants cards split",
    why: "nothing else splits them: the node offers whole cards, or none",
  },
];

const pluginRows: Barren[] = [
  {
    path: "devicePlugin.enabled",
    is: false,
    problem: "turns the device plugin off",
    why: noDra,
    remedy:
      "leave it out; a driver for dynamic resource allocation can run beside the plugin, but must not give out the same cards",
  },
];

const same = (found: unknown, is: unknown): boolean => found === is || String(found) === String(is);

function barren(context: CheckContext, field: "gpuOperator" | "devicePlugin", rows: Barren[]): Found {
  const values = context.spec[field]?.values;
  return rows
    .filter(({ path, is, when }) => same(valueAt(values, ...path.split(".")), is) && (when?.(context) ?? true))
    .map(({ path, problem, why, remedy }) => ({
      field: `${field}.values.${path}`,
      problem,
      why,
      remedy: remedy ?? "leave it out",
    }));
}

/** No value of a chart takes away what gives out GPUs. */
export const valuesWithoutGpus: Check = {
  id: "values-without-gpus",
  source:
    "gpu-operator v25.3.4 to v26.7.0: deployments/gpu-operator/templates/{clusterpolicy,validations}.yaml, controllers/state_manager.go, controllers/object_controls.go (NRI plugin); gpu-operator#647 (driver image); k8s-device-plugin, deployments/helm",
  find: (context) => [...barren(context, "gpuOperator", operatorRows), ...barren(context, "devicePlugin", pluginRows)],
};
