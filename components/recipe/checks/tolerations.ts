import { allPatches, type Check, type CheckContext, type Found } from "./check";
import { operatorDiscovers, pluginDiscovers } from "../kubernetes/discovery";
import { ownValuesOf } from "../outside/external";
import { taintsWithPatches } from "../machine/patch-taints";
import { controlPlaneTaint, describeTaint, tolerates } from "../machine/taints";
import type { NodeTaint, PodToleration } from "../types";
import { isMapping, valueAt } from "../mapping";

/** Lists of what runs on every GPU machine, by their path in the stack. */
const ofEachMachine = [
  ["gpuOperator", "values", "daemonsets", "tolerations"],
  ["gpuOperator", "values", "node-feature-discovery", "worker", "tolerations"],
  ["devicePlugin", "values", "tolerations"],
];

/** Lists of what runs once, on any machine; Helm waits until it runs. */
const ofOneMachine = ({ gpuOperator, devicePlugin }: CheckContext["spec"]): string[][] => [
  ["gpuOperator", "values", "operator", "tolerations"],
  ...["master", "gc"].flatMap((part) => [
    ...(gpuOperator && operatorDiscovers(gpuOperator)
      ? [["gpuOperator", "values", "node-feature-discovery", part, "tolerations"]]
      : []),
    ...(devicePlugin && pluginDiscovers(devicePlugin) ? [["devicePlugin", "values", "nfd", part, "tolerations"]] : []),
  ]),
];

/** Lists of tolerations in the charts' values leave no machine out. */
export const tolerations: Check = {
  id: "tolerations",
  source:
    "gpu-operator and k8s-device-plugin charts: a list in values takes the place of the chart's; k8s-device-plugin#1934",
  find: (context) => [
    ...ofEachMachine.flatMap((path) => outOfSome(context, path)),
    ...ofOneMachine(context.spec).flatMap((path) => outOfAll(context, path)),
  ],
};

/** A list that keeps a pod off a GPU machine. */
function outOfSome({ spec, gpuMachines, plan }: CheckContext, path: string[]): Found {
  const entries = listAt(spec, path);
  // Of control planes only what the stack says: whether Talos taints them is for their owner's configuration.
  const missing = gpuMachines
    .flatMap((machine) => taintsWithPatches(spec, machine.spec).map((taint) => ({ machine: machine.name, taint })))
    .find(({ taint }) => entries !== undefined && keepsOut(entries, taint));
  if (missing === undefined) return [];
  return {
    field: path.join("."),
    problem: `does not tolerate ${describeTaint(missing.taint)} of ${missing.machine}`,
    why: "the list takes the place of ours, so NVIDIA's pods would not be placed there and the node would offer no GPU",
    remedy: leaveOut(plan),
  };
}

/**
 * A list that keeps a pod off every machine of a cluster that the stack makes. Of another cluster there may be nodes that the stack
 * does not name.
 */
function outOfAll(context: CheckContext, path: string[]): Found {
  const { spec, machines, plan } = context;
  const entries = listAt(spec, path);
  if (entries === undefined || spec.bootstrap !== true) return [];
  // Talos taints control planes, unless a patch has a say in it (talos v1.13, machinery/config/types/v1alpha1, AllowSchedulingOnControlPlanes).
  const said = allPatches(context).some(
    ({ patch }) => patch.text.includes("allowSchedulingOn") || patch.kinds.includes("KubeNodeConfig"),
  );
  const given = said ? [] : [controlPlaneTaint];
  const kept = machines.map(({ name, spec: { role }, recipe }) => {
    const taints = [...recipe.nodeTaints, ...(role === "controlplane" ? given : [])];
    return { name, taint: taints.find((taint) => keepsOut(entries, taint)) };
  });
  if (!kept.every(({ taint }) => taint !== undefined)) return [];
  return {
    field: path.join("."),
    problem: `tolerates the taints of no machine: ${kept.map(({ name, taint }) => `${name} has ${describeTaint(taint!)}`).join(", ")}`,
    why: "this list replaces the stack's own, so the pod would stay Pending on every machine of the cluster that this stack makes, and Helm would wait for it until the update fails",
    remedy: leaveOut(plan),
  };
}

/** The list at a path of the stack; undefined where there is none. */
function listAt(spec: CheckContext["spec"], path: string[]): Partial<PodToleration>[] | undefined {
  const [chart, ...rest] = path as ["gpuOperator" | "devicePlugin", ...string[]];
  const list = valueAt({ ...spec[chart] }, ...rest);
  return Array.isArray(list) ? list.filter(isMapping) : undefined;
}

const keepsOut = (entries: Partial<PodToleration>[], taint: NodeTaint): boolean =>
  taint.effect !== "PreferNoSchedule" && !entries.some((entry) => tolerates(entry, taint));

const leaveOut = ({ spec, kubernetes: { tolerations: tolerated } }: CheckContext["plan"]): string =>
  ownValuesOf(spec)
    ? "add the taint"
    : `leave it out (the taints of the stack are tolerated without it: ${tolerated.map(({ key }) => key).join(", ")}), or add the taint`;
