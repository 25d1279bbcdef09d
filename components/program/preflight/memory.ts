import { handOverFinding } from "../../recipe/effect/findings";
import type { FieldFinding } from "../../clients/failure";
import { fitsVariable } from "../../clients/longest-variable";
import type { PreflightAnswer, PreflightTask, Remembered } from "./task";

type AllMachines = Pick<PreflightTask, "machines" | "omni">;

/** Schematics that are remembered of a machine: if several updates are undone, what it runs is unknown. */
const REMEMBERED = 10;

/**
 * Facts about this update's machines that the next update needs. An answer that would be too long has shorter
 * histories, and where that does not suffice it has no machines: then the next update asks them all again.
 */
export function remembered(task: AllMachines, before: Record<string, Remembered>): PreflightAnswer {
  for (let length = REMEMBERED; length > 0; length--) {
    const answer = written(task, before, length);
    if (fitsVariable(JSON.stringify(answer))) return answer;
  }
  return { machines: {}, histories: [] };
}

/**
 * Records the plan, since the preflight ends before a machine is changed: after an update that failed, a machine may
 * be as before it. Machines of a pool have one history, so each is written once.
 */
function written(
  { machines, omni }: AllMachines,
  before: Record<string, Remembered>,
  length: number,
): PreflightAnswer {
  const places = new Map<string, number>();
  const histories: string[][] = [];
  const placeOf = (history: string[]): number => {
    const text = history.join(" ");
    const place = places.get(text) ?? histories.push(history) - 1;
    places.set(text, place);
    return place;
  };
  const driven = machines.map(({ machine, schematicId, wanted, configuration, address }) => {
    const earlier = (before[machine]?.brought ?? []).filter((id) => id !== schematicId);
    const brought = placeOf([schematicId, ...earlier].slice(0, length));
    return [machine, { wanted, brought, [configuration]: address }] as const;
  });
  const ofOmni = omni.map(({ machine, uuid }) => [machine, { omni: uuid }] as const);
  return { machines: Object.fromEntries([...driven, ...ofOmni]), histories };
}

/**
 * Additions that an update would make to a machine and then remove again. Pulumi deletes last (pulumi,
 * pkg/resource/deploy/step_generator.go: deletes are scheduled after all other steps), so our part of a leaving
 * machine is removed late: after another machine at the same place has got its own.
 *
 * @param before what the last update remembers, by node name.
 */
export function takenAway(
  { machines, omni }: AllMachines,
  before: Record<string, Remembered>,
): FieldFinding[] {
  const now = [
    ...machines.map(({ machine, configuration, address }) => ({
      machine,
      owner: configuration,
      at: address,
    })),
    ...omni.map(({ machine, uuid }) => ({ machine, owner: "omni", at: uuid })),
  ];
  const stay = new Set(now.map(({ machine }) => machine));
  // An owned machine that leaves the stack keeps its configuration.
  const leaving = new Map(
    Object.entries(before).flatMap(([name, { place }]) =>
      place === undefined || place.owner === "owned" || stay.has(name)
        ? []
        : [[place.at, name] as const],
    ),
  );
  return now.flatMap(({ machine, owner, at }) => {
    const leaves = leaving.get(at);
    const was = before[machine]?.place?.owner;
    const fault = was === undefined ? undefined : handOverFinding(was, owner);
    const field = `machines.${machine}.${owner === "omni" ? "uuid" : "address"}`;
    return [
      ...(leaves === undefined
        ? []
        : [
            {
              field,
              problem: `${at} belongs to ${leaves}, which leaves the stack in the same update`,
              why: `Pulumi removes ${leaves} last, which would undo what ${machine} has just written into the machine's configuration`,
              remedy: `keep the name ${leaves}, or remove ${leaves} in one update and add ${machine} in the next`,
            },
          ]),
      ...(fault ? [{ field: `machines.${machine}.configuration`, ...fault }] : []),
    ];
  });
}
