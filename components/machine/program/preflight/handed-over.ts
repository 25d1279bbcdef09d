import { handOverFault } from "../../../recipe/effect/faults";
import { type Problem, problemAt } from "../../../clients/failure";
import type { PreflightTask, Remembered } from "./task";
import texts from "../texts.json";

/**
 * What an update would give a machine and then take away from it. Pulumi deletes last (pulumi, pkg/resource/deploy/step_generator.go:
 * deletes are scheduled after all other steps), so our part of a machine that leaves the stack is removed after the machine of another
 * name at the same place has got its own.
 *
 * @param before what the last update remembers, by node name.
 */
export function takenAway(
  { machines, omni }: Pick<PreflightTask, "machines" | "omni">,
  before: Record<string, Remembered>,
): Problem[] {
  const now = [
    ...machines.map(({ machine, configuration, address }) => ({ machine, owner: configuration, at: address })),
    ...omni.map(({ machine, uuid }) => ({ machine, owner: "omni", at: uuid })),
  ];
  const stay = new Set(now.map(({ machine }) => machine));
  // What leaves an owned configuration takes nothing out of it.
  const leaving = new Map(
    Object.entries(before).flatMap(([name, { place }]) =>
      place === undefined || place.owner === "owned" || stay.has(name) ? [] : [[place.at, name] as const],
    ),
  );
  return now.flatMap(({ machine, owner, at }) => {
    const leaves = leaving.get(at);
    const was = before[machine]?.place?.owner;
    const fault = was === undefined ? undefined : handOverFault(was, owner);
    return [
      ...(leaves === undefined ? [] : [renamed(machine, owner, at, leaves)]),
      ...(fault ? [{ field: `machines.${machine}.configuration`, ...fault }] : []),
    ];
  });
}

function renamed(machine: string, owner: string, at: string, leaves: string): Problem {
  return problemAt(`machines.${machine}.${owner === "omni" ? "uuid" : "address"}`, texts.handedOver, {
    at,
    leaves,
    machine,
  });
}
