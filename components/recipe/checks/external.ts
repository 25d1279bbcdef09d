import { ownValuesOf, type OwnValues } from "../outside/external";
import { taintsWithPatches } from "../machine/user-patches";
import { describeTaint, tolerates } from "../machine/taints";
import type { PodToleration } from "../types";
import { migManagerRelease } from "../kubernetes/mig-manager";
import type { ExternalKind } from "../spec/index";
import { type CheckContext, type Checks, complaint, type Found } from "./check";
import { wrongValues } from "./wrong-values";
import { valueAt } from "../mapping";

/** What each chart tolerates by itself on the machines (values.yaml, daemonsets.tolerations and tolerations). */
const tolerated: Partial<PodToleration>[] = [{ key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" }];

/** What is outside of the stack. */
export const externalChecks: Checks = {
  external: (context) => {
    const own = ownValuesOf(context.plan.spec);
    if (own === undefined) return [];
    const { values } = own;
    const said = context.plan.spec.external;
    if (said !== undefined && said.kind === undefined && said.read?.kind === undefined)
      return [unread(context), unsaid(context)];
    return [
      unread(context),
      classOfHandler(context),
      beside(context, own),
      values !== undefined && [
        wrongValues(
          context,
          "neededOutside",
          (at) => !own.partly || valueAt(context.spec, ...at.split(".")) !== undefined,
        ),
        !own.partly && outOfSome(context, own),
      ],
    ];
  },
};

const unread = ({ plan }: CheckContext): Found =>
  (plan.spec.external?.read?.unread ?? []).map((what) => complaint("external.files", "external/unread", { what }));

/** A RuntimeClass where no machine has NVIDIA's handler; the operator deletes its own with NRI (gpu-operator v26.7.0, state_manager.go). */
const classOfHandler = ({ plan: { spec, kubernetes } }: CheckContext): Found =>
  kubernetes.runtimeClass.handler === "" &&
  (spec.external?.runtimeClassName ?? "") !== "" &&
  complaint("external.runtimeClassName", "external/runtime-class", { spec });

function unsaid({ plan }: CheckContext): Found {
  const { files = [], read } = plan.spec.external ?? {};
  if ((read?.unread ?? []).length > 0) return [];
  return complaint("external.kind", files.length > 0 && read === undefined ? "external/not-read" : "external/no-kind");
}

/** What a stack says for a release of its own, which nobody outside reads. */
function beside({ plan }: CheckContext, { kind, field }: OwnValues): Found {
  const { sharing, monitoring } = plan.spec;
  const operator = kind === "gpuOperator";
  const label = "and the label nvidia.com/mig.config of the machine";
  const mig = operator ? ` (MIG: mig.strategy, migManager.version ${migManagerRelease}, ${label})` : "";
  const words = field === "external" ? "external" : `${field}.takeOver`;
  return [
    sharing !== undefined &&
      complaint("sharing", field === "external" ? "external/sharing" : "external/sharing-taken", { words, mig }),
    operator &&
      monitoring?.serviceMonitor &&
      complaint("monitoring.serviceMonitor", "external/service-monitor", { words }),
  ];
}

const tolerationsAt: Record<ExternalKind, string[]> = {
  gpuOperator: ["daemonsets", "tolerations"],
  devicePlugin: ["tolerations"],
  dra: ["kubeletPlugin", "tolerations"],
};

/** Without a list of its own, a chart tolerates NVIDIA's taint alone. A list that is there is judged as ours are. */
function outOfSome({ spec, gpuMachines }: CheckContext, { kind, field }: OwnValues): Found {
  const path = tolerationsAt[kind];
  if (valueAt(spec[kind]?.values, ...path) !== undefined) return [];
  const missing = gpuMachines
    .flatMap((machine) => taintsWithPatches(spec, machine.spec).map((taint) => ({ name: machine.name, taint })))
    .find(({ taint }) => taint.effect !== "PreferNoSchedule" && !tolerated.some((entry) => tolerates(entry, taint)));
  const taint = missing && describeTaint(missing.taint);
  return missing && complaint(`${field}.values.${path.join(".")}`, "external/taint", { taint, missing });
}
