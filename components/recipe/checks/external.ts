import { ownValuesOf, type OwnValues } from "../external/external";
import { taintsWithPatches } from "../machine/user-patches";
import { describeTaint, tolerates } from "../machine/taints";
import type { PodToleration } from "../types";
import { migManagerRelease } from "../cluster/mig-manager";
import type { ExternalKind } from "../spec/index";
import type { CheckContext, Checks, Found } from "./check";
import { neededOutside } from "./wrong-value-rows";
import { wrongValues } from "./wrong-values";
import { valueAt } from "../mapping";
import type { FindingText } from "../rules";

/**
 * Tolerations that each chart by default gives to its pods on GPU machines (values.yaml, daemonsets.tolerations and
 * tolerations).
 */
const tolerated: Partial<PodToleration>[] = [
  { key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" },
];

/** Checks of external GPU providers. */
export const externalChecks = {
  external: {
    rule: "external names the kind of GPU provider, and the values of an external or taken-over release fit Talos and the stack",
    source:
      "values.yaml of gpu-operator v24.6.0 to v26.7.0 and of k8s-device-plugin 0.11.0 to 0.20.0; docs.nvidia.com, GPU Operator, CDI (on by default from v25.10.0)",
    ofFiles: true,
    find: (context) => {
      const ownValues = ownValuesOf(context.plan.spec);
      if (ownValues === undefined) return [];
      const { values } = ownValues;
      const external = context.plan.spec.external;
      if (
        external !== undefined &&
        external.kind === undefined &&
        external.read?.kind === undefined
      )
        return [unreadFindings(context), unstatedKind(context)];
      return [
        unreadFindings(context),
        classOfHandler(context),
        settingsWithOwnValues(context, ownValues),
        values !== undefined && [
          wrongValues(
            context,
            neededOutside,
            (path) => !ownValues.partly || valueAt(context.spec, ...path.split(".")) !== undefined,
          ),
          !ownValues.partly && outOfSome(context, ownValues),
        ],
      ];
    },
  },
} satisfies Checks;

const unreadFindings = ({ plan }: CheckContext): Found =>
  (plan.spec.external?.read?.unread ?? []).map((unreadPart) => ({
    field: "external.files",
    problem: unreadPart,
    why: "the stack would not know the GPU provider and its values",
    remedy:
      "list the files that install the GPU provider, or write kind, version, namespace and values under external",
  }));

/**
 * Finding for `external.runtimeClassName` if no machine's containerd has a handler for NVIDIA's runtime. With NRI, the
 * operator deletes its own RuntimeClass (gpu-operator v26.7.0, state_manager.go).
 */
const classOfHandler = ({ plan: { spec, kubernetes } }: CheckContext): Found =>
  kubernetes.runtimeClass.handler === "" && (spec.external?.runtimeClassName ?? "") !== ""
    ? {
        field: "external.runtimeClassName",
        ...noHandler(spec.talosVersion),
      }
    : undefined;

/** Finding for a field that names NVIDIA's RuntimeClass on a Talos version whose containerd has no handler for it. */
export const noHandler = (talosVersion: string): FindingText => ({
  problem: `names a RuntimeClass on Talos ${talosVersion}, whose containerd has no handler for NVIDIA's runtime`,
  why: "pods of that class would not start",
  remedy: "leave it out: on this Talos version pods get their cards without a RuntimeClass",
});

function unstatedKind({ plan }: CheckContext): Found {
  const { files = [], read } = plan.spec.external ?? {};
  if ((read?.unread ?? []).length > 0) return [];
  const isUnread = files.length > 0 && read === undefined;
  return {
    field: "external.kind",
    problem: isUnread ? "is not set, and the files were not read" : "is missing",
    why: "each kind of GPU provider needs different node labels and values",
    remedy: isUnread
      ? "write gpuOperator, devicePlugin or dra, or read the files in a TypeScript program with `await GpuCluster.withFacts(args)`"
      : "write gpuOperator, devicePlugin or dra, or list under external.files the files that install the GPU provider",
  };
}

/**
 * Findings for fields that have no effect, because the user writes the values of the release (`external` or
 * `takeOver`).
 */
function settingsWithOwnValues({ plan }: CheckContext, { kind, field }: OwnValues): Found {
  const { sharing, monitoring } = plan.spec;
  const isOperator = kind === "gpuOperator";
  const mig = isOperator
    ? ` (for MIG, set mig.strategy, and migManager.version to ${migManagerRelease}). For MIG, also set the label nvidia.com/mig.config under \`labels\` of the machine`
    : "";
  const fieldText = field === "external" ? "external" : `${field}.takeOver`;
  return [
    sharing !== undefined
      ? {
          field: "sharing",
          problem: `is set together with ${fieldText}`,
          why: "the values of the release set the sharing, and the stack does not change those values",
          remedy:
            field === "external"
              ? `remove this field, and set sharing in those values${mig}. If pods then request a resource other than nvidia.com/gpu, set external.resourceName to it`
              : `remove this field, and set sharing in those values${mig}`,
        }
      : undefined,
    isOperator && monitoring?.serviceMonitor
      ? {
          field: "monitoring.serviceMonitor",
          problem: `is set together with ${fieldText}`,
          why: "the operator creates this ServiceMonitor if the values of its release enable it, and the stack does not change those values",
          remedy:
            "remove this field, and write `dcgmExporter: { serviceMonitor: { enabled: true } }` in those values",
        }
      : undefined,
  ];
}

const tolerationsAt: Record<ExternalKind, string[]> = {
  gpuOperator: ["daemonsets", "tolerations"],
  devicePlugin: ["tolerations"],
  dra: ["kubeletPlugin", "tolerations"],
};

/**
 * Finding for a taint that the chart's default tolerations do not cover: the defaults tolerate only NVIDIA's taint. If
 * the values contain a list of tolerations, the check `tolerations` checks this list instead.
 */
function outOfSome({ spec, gpuMachines }: CheckContext, { kind, field }: OwnValues): Found {
  const path = tolerationsAt[kind];
  if (valueAt(spec[kind]?.values, ...path) !== undefined) return [];
  const missing = gpuMachines
    .flatMap((machine) =>
      taintsWithPatches(spec, machine.spec).map((taint) => ({ name: machine.name, taint })),
    )
    .find(
      ({ taint }) =>
        taint.effect !== "PreferNoSchedule" && !tolerated.some((entry) => tolerates(entry, taint)),
    );
  return missing
    ? {
        field: `${field}.values.${path.join(".")}`,
        problem: `is not set, and the chart's default does not tolerate ${describeTaint(missing.taint)} of ${missing.name}`,
        why: "Kubernetes would schedule none of NVIDIA's pods on this node, so the node would offer no GPU",
        remedy:
          "write a list with the chart's default tolerations (`helm show values`) and a toleration of this taint",
      }
    : undefined;
}
