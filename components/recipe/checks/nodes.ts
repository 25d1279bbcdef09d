import { operatorDiscovers, pluginDiscovers } from "../cluster/discovery";
import { taintsWithPatches } from "../machine/user-patches";
import {
  controlPlaneTaint,
  describeTaint,
  parseTaint,
  taintEffects,
  tolerates,
} from "../machine/taints";
import { isMapping, valueAt } from "../mapping";
import { ownValuesOf } from "../external/external";
import { type FindingText, labelValue, qualifiedName, shown } from "../rules";
import type { NodeTaint, PodToleration } from "../types";
import {
  allPatches,
  type CheckContext,
  type CheckedMachine,
  type Checks,
  type Found,
  findPerMachine,
  findPerPatch,
  combine,
} from "./check";
import { ofKubelet } from "./placement";

/** Checks of the nodes' labels and taints, and of the tolerations in the charts' values. */
export const nodeChecks = {
  "node-labels": {
    rule: "Each label is valid in Kubernetes. No label differs from the value that the kubelet or the stack sets, and none keeps NVIDIA's pods off a GPU machine",
    source:
      "Kubernetes, labels; gpu-operator, controllers/state_manager.go (the operator keeps a user's label)",
    ofFiles: true,
    find: combine(
      findPerMachine((machine, context) =>
        Object.entries(machine.spec.labels ?? {}).map(([key, text]) => {
          const field = `.labels.${key}`;
          const formFault = qualifiedName(key) ?? labelValue(text);
          if (formFault)
            return {
              field,
              ...formFault,
              problem: `${key}: ${shown(text)} is not a label (${formFault.problem})`,
            };
          const finding = labelFault(machine, key, text, context);
          return finding ? { field, ...finding } : undefined;
        }),
      ),
      findPerPatch(({ patch, machines }, context) =>
        [...patch.nodeLabels, ...patch.kubeletLabels].map(
          ([key, text]) =>
            machines.flatMap((machine) => labelFault(machine, key, text, context) ?? [])[0],
        ),
      ),
    ),
  },
  taints: {
    rule: "Each taint is valid, and no taint is one that Kubernetes' controllers set",
    source:
      "kubernetes v1.34.0, pkg/apis/core/validation/validation.go (ValidateTaintsInNode); talos, machine.nodeTaints (`value:Effect`)",
    ofFiles: true,
    find: findPerMachine((machine) =>
      Object.entries(machine.spec.taints ?? {}).flatMap(([key, text]) => {
        const field = `.taints.${key}`;
        const taint = parseTaint(key, text);
        if (!taint)
          return {
            field,
            problem: `${shown(text)} does not have the form value:Effect`,
            why: "the update could not set the taint, and pods without a toleration would run on the machine",
            remedy: `write \`value:Effect\` or \`:Effect\`, with one of ${taintEffects.join(", ")}`,
          };
        if (ofKubernetes.test(key))
          return {
            field,
            problem: `Kubernetes itself sets the taint ${key}`,
            why: "Kubernetes' controllers add and remove this taint by the node's state, so your taint would not stay",
            remedy: "use another key, e.g. `nvidia.com/gpu`",
          };
        const finding = qualifiedName(key) ?? labelValue(taint.value ?? "");
        return finding ? { field, ...finding } : [];
      }),
    ),
  },
  tolerations: {
    rule: "A list of tolerations in a chart's values covers the taints of each GPU machine. For a pod that needs only one node, the list covers the taints of at least one machine",
    source:
      "gpu-operator, k8s-device-plugin and dra-driver-nvidia-gpu charts: a list in values replaces the chart's list; k8s-device-plugin#1934",
    ofFiles: true,
    find: (context) => [
      ...ofEachMachine.flatMap((path) => outOfSome(context, path)),
      ...ofOneMachine(context.spec).flatMap((path) => outOfAll(context, path)),
    ],
  },
} satisfies Checks;

/**
 * Whether a label turns off an operand of the GPU Operator that the stack needs. The operator itself sets the value of
 * an empty label. Operands for which no other operand waits, such as dcgm-exporter, may be off (gpu-operator,
 * controllers/state_manager.go; assets/state-*, nodeSelector of each DaemonSet).
 */
function turnedOff({ plan, spec }: CheckContext, key: string, text: string): boolean {
  if (key === "nvidia.com/gpu.present") return text !== "true";
  if (plan.kubernetes.mode !== "operator") return false;
  if (key === "nvidia.com/gpu.deploy.operands") return text === "false";
  const splits = spec.sharing?.mig !== undefined;
  const needed = [
    "device-plugin",
    ...(plan.injection === "legacy" ? [] : ["operator-validator"]),
    ...(plan.injection === "nri" ? ["container-toolkit"] : []),
  ];
  const parts = [...needed, ...(splits ? ["mig-manager", "gpu-feature-discovery"] : [])];
  return (
    parts.some((part) => key === `nvidia.com/gpu.deploy.${part}`) && text !== "true" && text !== ""
  );
}

/** Finding about a label in a machine's fields or patches. The caller adds the path of the field. */
function labelFault(
  machine: CheckedMachine,
  key: string,
  text: string,
  context: CheckContext,
): FindingText | undefined {
  const kubeletValues =
    key === "kubernetes.io/hostname"
      ? [machine.name]
      : Object.hasOwn(ofKubelet, key) && ofKubelet[key];
  if (kubeletValues && !kubeletValues.includes(text))
    return {
      problem: `${key}: "${text}" is not the value that the kubelet sets`,
      why: "the kubelet sets this label itself, so pods that select this value would find no node",
      remedy: "leave it out",
    };
  const configurations =
    key === "nvidia.com/device-plugin.config" ? pluginConfigurations(context) : [];
  if (configurations.length > 0 && !configurations.includes(text))
    return {
      problem: `${key}: "${text}" is not a configuration of the device plugin (known: ${configurations.join(", ")})`,
      why: "the plugin waits for a configuration of that name, and the node offers no GPU",
      remedy:
        "name one of these configurations, or leave the label out for the default configuration",
    };
  const isTurnedOff = machine.gpuCount > 0 && turnedOff(context, key, text);
  const plannedValue = Object.hasOwn(machine.recipe.nodeLabels, key)
    ? machine.recipe.nodeLabels[key]
    : undefined;
  const why =
    "with this value NVIDIA's pods would not run on the node, so the node would offer no GPU";
  if (isTurnedOff)
    return { problem: `${key}: "${text}" turns the GPU off`, why, remedy: "leave it out" };
  if (plannedValue === undefined || plannedValue === text) return undefined;
  return {
    problem: `${key}: "${text}" conflicts with "${plannedValue}", the value that the stack sets`,
    why,
    remedy: "leave it out",
  };
}

/** Names of the device plugin's configurations; empty if an external ConfigMap has them. */
function pluginConfigurations({ plan, spec }: CheckContext): string[] {
  const values = plan.kubernetes.release.values;
  const [section, texts] = spec.gpuOperator
    ? [valueAt(values, "devicePlugin", "config"), "data"]
    : [valueAt(values, "config"), "map"];
  const all = valueAt(section, texts);
  return isMapping(all) ? Object.keys(all) : [];
}

/**
 * Pattern of the taints by which Kubernetes shows a node's state. Source: kubernetes v1.34.0,
 * staging/src/k8s.io/api/core/v1/well_known_taints.go; cloud-provider/api.
 */
const ofKubernetes =
  /^(node\.kubernetes\.io\/(not-ready|unreachable|unschedulable|memory-pressure|disk-pressure|network-unavailable|pid-pressure)|node\.cloudprovider\.kubernetes\.io\/(uninitialized|shutdown))$/;

/** Paths in the stack of the toleration lists for pods that run on every GPU machine. */
const ofEachMachine = [
  ["gpuOperator", "values", "daemonsets", "tolerations"],
  ["gpuOperator", "values", "node-feature-discovery", "worker", "tolerations"],
  ["devicePlugin", "values", "tolerations"],
  ["dra", "values", "kubeletPlugin", "tolerations"],
];

/**
 * Paths in the stack of the toleration lists for Deployments, whose pods may run on any machine. Helm waits until these
 * pods are ready.
 */
const ofOneMachine = ({ gpuOperator, devicePlugin }: CheckContext["spec"]): string[][] => [
  ["gpuOperator", "values", "operator", "tolerations"],
  ...["master", "gc"].flatMap((part) => [
    ...(gpuOperator && operatorDiscovers(gpuOperator)
      ? [["gpuOperator", "values", "node-feature-discovery", part, "tolerations"]]
      : []),
    ...(devicePlugin && pluginDiscovers(devicePlugin)
      ? [["devicePlugin", "values", "nfd", part, "tolerations"]]
      : []),
  ]),
];

/** Finding for a list of tolerations that keeps a pod off a GPU machine. */
function outOfSome({ spec, gpuMachines, plan }: CheckContext, path: string[]): Found {
  const entries = listAt(spec, path);
  // The taint that Talos gives control planes does not count: it depends on their owner's configuration.
  const missing = gpuMachines
    .flatMap((machine) =>
      taintsWithPatches(spec, machine.spec).map((taint) => ({ machine: machine.name, taint })),
    )
    .find(({ taint }) => entries !== undefined && keepsOut(entries, taint));
  return missing
    ? {
        field: path.join("."),
        problem: `does not tolerate the taint ${describeTaint(missing.taint)} of ${missing.machine}`,
        why: "this list replaces the default list, so NVIDIA's pods would not run on the node, and the node would offer no GPU",
        remedy: leaveOut(plan),
      }
    : undefined;
}

/**
 * Finding for a list of tolerations that keeps a pod off all machines of a cluster that the stack creates. In any other
 * cluster the pod may run on nodes outside of the stack.
 */
function outOfAll(context: CheckContext, path: string[]): Found {
  const { spec, machines, plan } = context;
  const entries = listAt(spec, path);
  if (entries === undefined || spec.bootstrap !== true) return [];
  // Talos taints control planes, unless a patch sets the opposite (talos v1.13, machinery/config/types/v1alpha1,
  // AllowSchedulingOnControlPlanes).
  const patchesDecide = allPatches(context).some(
    ({ patch }) =>
      patch.text.includes("allowSchedulingOn") || patch.kinds.includes("KubeNodeConfig"),
  );
  const controlPlaneTaints = patchesDecide ? [] : [controlPlaneTaint];
  const machineTaints = machines.map(({ name, spec: machineSpec }) => {
    const taints = [
      ...taintsWithPatches(spec, machineSpec),
      ...(machineSpec.role === "controlplane" ? controlPlaneTaints : []),
    ];
    return { name, taint: taints.find((taint) => keepsOut(entries, taint)) };
  });
  if (!machineTaints.every(({ taint }) => taint !== undefined)) return [];
  const taintTexts = machineTaints.map(({ name, taint }) => `${name} has ${describeTaint(taint!)}`);
  return {
    field: path.join("."),
    problem: `each machine has a taint that this list does not tolerate: ${taintTexts.join(", ")}`,
    why: "this list replaces the default list, so the pod would stay Pending, and the update would fail at Helm's timeout",
    remedy: leaveOut(plan),
  };
}

/** The list at a path of the stack; undefined where there is none. */
function listAt(spec: CheckContext["spec"], path: string[]): Partial<PodToleration>[] | undefined {
  const [chart, ...rest] = path as ["gpuOperator" | "devicePlugin" | "dra", ...string[]];
  const list = valueAt({ ...spec[chart] }, ...rest);
  return Array.isArray(list) ? list.filter(isMapping) : undefined;
}

const keepsOut = (entries: Partial<PodToleration>[], taint: NodeTaint): boolean =>
  taint.effect !== "PreferNoSchedule" && !entries.some((entry) => tolerates(entry, taint));

const leaveOut = ({
  spec,
  kubernetes: { tolerations: tolerated },
}: CheckContext["plan"]): string =>
  ownValuesOf(spec)
    ? "add a toleration for this taint"
    : `leave it out (the stack's default list tolerates ${tolerated.map(({ key }) => key).join(", ")}), or add a toleration for this taint`;
