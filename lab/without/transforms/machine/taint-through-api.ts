import { editOwnPatch } from "../../own-patch";
import { eachMachine } from "../../transform";

/** The machine's configuration sets the taints, which a worker may not do. */
export const taintThroughApi = eachMachine((machine) => {
  const taints = machine.nodeTaints;
  machine.nodeTaints = [];
  if (taints.length === 0) return;
  const asTalosHasThem = Object.fromEntries(taints.map(({ key, value, effect }) => [key, `${value ?? ""}:${effect}`]));
  editOwnPatch(machine, (patch) => patch.setIn(["machine", "nodeTaints"], patch.createNode(asTalosHasThem)));
});
