import type { Check } from "./check";
import { parseTaint, taintEffects } from "../machine/taints";

export const taints: Check = {
  id: "taints",
  source: "Kubernetes, taints; talos, machine.nodeTaints (`value:Effect`)",
  find: ({ machines }) =>
    machines.flatMap((machine) =>
      Object.entries(machine.spec.taints ?? {})
        .filter(([key, text]) => !parseTaint(key, text))
        .map(([key, text]) => ({
          field: `${machine.field}.taints.${key}`,
          problem: `"${text}" is not a value and an effect`,
          why: "the taint could not be set, and pods that do not belong there would take the GPU machine",
          remedy: `write \`value:Effect\` or \`:Effect\`, with one of ${taintEffects.join(", ")}`,
        })),
    ),
};
