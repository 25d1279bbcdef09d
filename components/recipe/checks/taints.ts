import type { Check } from "./check";
import { labelValue, qualifiedName, shown } from "../rules";
import { parseTaint, taintEffects } from "../machine/taints";

export const taints: Check = {
  id: "taints",
  source:
    "kubernetes v1.34.0, pkg/apis/core/validation/validation.go (ValidateTaintsInNode); talos, machine.nodeTaints (`value:Effect`)",
  find: ({ machines }) =>
    machines.flatMap((machine) =>
      Object.entries(machine.spec.taints ?? {}).flatMap(([key, text]) => {
        const field = `${machine.field}.taints.${key}`;
        const taint = parseTaint(key, text);
        if (!taint) {
          return [
            {
              field,
              problem: `${shown(text)} is not a value and an effect`,
              why: "the taint could not be set, and pods that do not belong there would take the GPU machine",
              remedy: `write \`value:Effect\` or \`:Effect\`, with one of ${taintEffects.join(", ")}`,
            },
          ];
        }
        const fault = qualifiedName(key) ?? labelValue(taint.value ?? "");
        return fault ? [{ field, ...fault }] : [];
      }),
    ),
};
