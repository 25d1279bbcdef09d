import { handOverFinding } from "../../recipe/effect/findings";
import type { FieldFinding } from "../../clients/failure";
import { fitsVariable } from "../../clients/longest-variable";
import type { PreflightAnswer, PreflightTask, Remembered } from "./task";

type AllMachines = Pick<PreflightTask, "machines" | "omni">;

/** Greatest number of schematics that are remembered for a machine, in case a user reverts several updates. */
const REMEMBERED = 10;

/**
 * Facts about this update's machines that the next update needs. If the answer would be too long, this function
 * shortens the histories of schematics. If that is not enough, it leaves out all machines, and the next update checks
 * every machine again.
 */
export function remembered(
  task: AllMachines,
  previousMachines: Record<string, Remembered>,
): PreflightAnswer {
  for (let length = REMEMBERED; length > 0; length--) {
    const answer = answerWith(task, previousMachines, length);
    if (fitsVariable(JSON.stringify(answer))) return answer;
  }
  return { machines: {}, histories: [] };
}

/**
 * Records the planned schematics in addition to the earlier ones. The preflight ends before machines change, so a
 * machine may still run its earlier image after a failed update. Machines of a pool share a history, so each history is
 * written once.
 */
function answerWith(
  { machines, omni }: AllMachines,
  previousMachines: Record<string, Remembered>,
  length: number,
): PreflightAnswer {
  const places = new Map<string, number>();
  const histories: string[][] = [];
  const placeOf = (history: string[]): number => {
    const text = history.join(" ");
    const historyIndex = places.get(text) ?? histories.push(history) - 1;
    places.set(text, historyIndex);
    return historyIndex;
  };
  const talosMachines = machines.map(
    ({ machine, schematicId, settingsHash, configuration, address }) => {
      const earlierSchematics = (previousMachines[machine]?.schematics ?? []).filter(
        (id) => id !== schematicId,
      );
      const history = placeOf([schematicId, ...earlierSchematics].slice(0, length));
      return [machine, { hash: settingsHash, history, [configuration]: address }] as const;
    },
  );
  const omniMachines = omni.map(({ machine, uuid }) => [machine, { omni: uuid }] as const);
  return { machines: Object.fromEntries([...talosMachines, ...omniMachines]), histories };
}

/**
 * Findings about machines whose new settings the same update would remove again. Pulumi deletes last (pulumi,
 * pkg/resource/deploy/step_generator.go: deletes are scheduled after all other steps). A new machine may have the
 * address of a leaving machine. Pulumi then first writes the settings of the new machine, and afterwards removes the
 * settings of the leaving machine.
 *
 * @param previousMachines the last update's record of each machine, by node name.
 */
export function reusedPlaceFindings(
  { machines, omni }: AllMachines,
  previousMachines: Record<string, Remembered>,
): FieldFinding[] {
  const presentMachines = [
    ...machines.map(({ machine, configuration, address }) => ({
      machine,
      owner: configuration,
      at: address,
    })),
    ...omni.map(({ machine, uuid }) => ({ machine, owner: "omni", at: uuid })),
  ];
  const presentNames = new Set(presentMachines.map(({ machine }) => machine));
  // An owned machine that leaves the stack keeps its configuration.
  const leavingByPlace = new Map(
    Object.entries(previousMachines).flatMap(([name, { place }]) =>
      place === undefined || place.owner === "owned" || presentNames.has(name)
        ? []
        : [[place.addressOrUuid, name] as const],
    ),
  );
  return presentMachines.flatMap(({ machine, owner, at: addressOrUuid }) => {
    const leavingName = leavingByPlace.get(addressOrUuid);
    const previousOwner = previousMachines[machine]?.place?.owner;
    const finding = previousOwner === undefined ? undefined : handOverFinding(previousOwner, owner);
    const field = `machines.${machine}.${owner === "omni" ? "uuid" : "address"}`;
    return [
      ...(leavingName === undefined
        ? []
        : [
            {
              field,
              problem: `${addressOrUuid} belongs to the machine ${leavingName}, which this update removes from the stack`,
              why: `Pulumi removes ${leavingName} last, and would remove the settings that ${machine} has just written into the configuration`,
              remedy: `keep the name ${leavingName}, or remove ${leavingName} in one update and add ${machine} in the next`,
            },
          ]),
      ...(finding ? [{ field: `machines.${machine}.configuration`, ...finding }] : []),
    ];
  });
}
