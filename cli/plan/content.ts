import type { Severity } from "../../components/recipe/index";
import type { Comparison, MachineComparison } from "./comparison";

/** Machines that are upgraded at the same time. */
export interface Wave {
  machines: { name: string; reboots: string }[];
}

/** A step of the update: a wave of machines, or a single action. */
export type Step = Wave | { once: string; gate?: boolean };

/** The warnings or the notes of a comparison. */
export const remarksOf = ({ notes }: Comparison, severity: Severity): Comparison["notes"] =>
  notes.filter((note) => note.severity === severity);

/** Largest number of machines in a list or wave that are named one by one. */
export const drawn = 8;

/**
 * Sentence after lists of extensions. A changed order changes the schematic's ID, but reboots no machine (`imageId`).
 */
export const orderOfExtensions =
  "The order of the extensions does not matter: a changed order makes no machine reboot.";

/**
 * Each list of extensions of an image, with the names of the machines that have this list. Machines that leave the
 * stack are not included.
 */
export function extensionsOf(
  machines: MachineComparison[],
): { names: string[]; extensions: string[] }[] {
  const groups = new Map<string, { names: string[]; extensions: string[] }>();
  for (const { name, after } of machines) {
    if (after === undefined) continue;
    const key = JSON.stringify(after.extensions);
    const group = groups.get(key) ?? { names: [], extensions: after.extensions };
    group.names.push(name);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** Names on one line. If there are many names, the line has the first ones and the number of the others. */
export const namesOf = (names: string[]): string =>
  names.length <= drawn
    ? names.join(", ")
    : `${names.slice(0, drawn).join(", ")} and ${names.length - drawn} more`;

/** The GPU provider's release, and its change. */
export function releaseOf({ base, release: { before, after }, valueChanges }: Comparison): string {
  if (base === undefined || before === undefined) return after;
  if (before !== after) return `${before} → ${after}`;
  return valueChanges.length > 0 ? `${after}, with changed values` : `${after}: unchanged`;
}

/**
 * The order of an update: groups of machines, the GPU provider, smoke tests and workloads. The GPU provider comes after
 * all machines, or after those of `upgrade.first`.
 */
export function stepsOf({
  machineGroups,
  groupsBeforeProvider,
  machines,
  release,
}: Comparison): Step[] {
  const all = machineGroups.map((names): Wave => ({
    machines: names.map((name) => ({
      name,
      reboots: machines.find((machine) => machine.name === name)?.reboots ?? "no",
    })),
  }));
  return [
    ...all.slice(0, groupsBeforeProvider),
    { once: release.after },
    ...(groupsBeforeProvider < all.length
      ? [
          { once: "smoke test on the machines of upgrade.first", gate: true },
          ...all.slice(groupsBeforeProvider),
        ]
      : []),
    { once: "smoke test on every GPU machine", gate: true },
    { once: "workloads" },
  ];
}

/** Whether the update changes nothing. */
export const isUnchanged = ({
  stackChanges,
  machines,
  valueChanges,
  release,
}: Comparison): boolean =>
  stackChanges.length + valueChanges.length === 0 &&
  release.before === release.after &&
  machines.every(
    ({ reboots, changes, configuration }) =>
      reboots === "no" && changes.length + configuration.length === 0,
  );

/** Which machines reboot, in a sentence or two. */
export function summary(machines: MachineComparison[]): string {
  const namesOfMachines = (rebootKind: string): string[] =>
    machines.filter(({ reboots }) => reboots === rebootKind).map(({ name }) => name);
  const machinesText = (names: string[]): string =>
    names.length > drawn ? `${names.length} machines` : names.join(", ");
  const [rebooting, maybeRebooting] = [namesOfMachines("yes"), namesOfMachines("only if")];
  if (rebooting.length + maybeRebooting.length === 0) return "No machine reboots.";
  return [
    ...(rebooting.length > 0 ? [`Reboots: ${machinesText(rebooting)}.`] : []),
    ...(maybeRebooting.length > 0 ? [`May reboot: ${machinesText(maybeRebooting)}.`] : []),
  ].join(" ");
}
