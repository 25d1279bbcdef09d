import type { Check } from "./check";
import { labelValue, qualifiedName, shown } from "../rules";
import { parseTaint, taintEffects } from "../machine/taints";

/** Taints of the node's state. Source: kubernetes v1.34.0, staging/src/k8s.io/api/core/v1/well_known_taints.go; cloud-provider/api. */
const ofKubernetes =
  /^(node\.kubernetes\.io\/(not-ready|unreachable|unschedulable|memory-pressure|disk-pressure|network-unavailable|pid-pressure)|node\.cloudprovider\.kubernetes\.io\/(uninitialized|shutdown))$/;

/** Taints are ones that Kubernetes lets somebody set. */
export const taints: Check = {
  id: "taints",
  source:
    "kubernetes v1.34.0, pkg/apis/core/validation/validation.go (ValidateTaintsInNode); talos, machine.nodeTaints (`value:Effect`)",
  find: ({ machines }) =>
    machines.flatMap((machine) =>
      Object.entries(machine.spec.taints ?? {}).flatMap(([key, text]) => {
        const field = `${machine.field}.taints.${key}`;
        const taint = parseTaint(key, text);
        if (!taint)
          return {
            field,
            problem: `${shown(text)} is not a value and an effect`,
            why: "the taint could not be set, and pods that do not belong there would take the GPU machine",
            remedy: `write \`value:Effect\` or \`:Effect\`, with one of ${taintEffects.join(", ")}`,
          };
        if (ofKubernetes.test(key))
          return {
            field,
            problem: `${key} is Kubernetes' own`,
            why: "Kubernetes' controllers add and remove it by what they see of the node, so it would not stay",
            remedy: "write another taint, e.g. `nvidia.com/gpu`",
          };
        const fault = qualifiedName(key) ?? labelValue(taint.value ?? "");
        return fault ? { field, ...fault } : [];
      }),
    ),
};
