import { isDeepStrictEqual } from "node:util";
import type { MachineState } from "./state";

/** A field whose value has changed. */
export interface Change {
  text: string;
  field?: string;
  /** Name of the configuration's part, if the change adds or removes this part; absent for other changes. */
  comesOrGoes?: string;
}

/** Changes of the fields that identify the machine. */
export const identityChanges = (before: MachineState, after: MachineState): Change[] =>
  (["configuration", "address"] as const)
    .filter((field) => before[field] !== after[field])
    .map((field) => ({ text: `${field}: ${before[field]} → ${after[field]}` }));

/** Group of fields in a machine's state. Its name says what a change of these fields does to the machine. */
export type Group = "rebootsIfChanged" | "mayRebootIfChanged" | "changesWithoutReboot";

/** Fields that map names to values, each with the word that the text of a change puts before such a name. */
const lists = { parts: "", labels: "label ", taints: "taint " } as const;

/** One entry of a state: a field, or a named entry of a field in `lists`. */
interface StateField {
  group: Group;
  list?: keyof typeof lists;
  name: string;
  value: unknown;
}

function fieldsOf(state: MachineState): Map<string, StateField> {
  const fields = (
    ["changesWithoutReboot", "mayRebootIfChanged", "rebootsIfChanged"] as const
  ).flatMap((group) =>
    Object.entries(state[group] ?? {}).flatMap(([field, value]): StateField[] =>
      Object.hasOwn(lists, field)
        ? Object.entries(value as object).map(([name, entry]) => ({
            group,
            list: field as "parts",
            name,
            value: entry,
          }))
        : [{ group, name: field, value }],
    ),
  );
  return new Map(fields.map((field) => [`${field.list ?? ""} ${field.name}`, field]));
}

/**
 * Changes within a group. If a value is in another group than before, e.g. because the machine got its first card, the
 * change counts in the new group.
 */
export function changesOf(before: MachineState, after: MachineState, group: Group): Change[] {
  const [previousFields, nextFields] = [fieldsOf(before), fieldsOf(after)];
  const rank = ({ list }: StateField): number => Object.keys(lists).indexOf(list ?? "");
  return [...new Map([...nextFields, ...[...previousFields].filter(([id]) => !nextFields.has(id))])]
    .filter(
      ([id, stateField]) =>
        stateField.group === group &&
        !isDeepStrictEqual(previousFields.get(id)?.value, nextFields.get(id)?.value),
    )
    .sort(([, a], [, b]) => rank(a) - rank(b))
    .map(([id, { list, name }]) => {
      if (list === undefined)
        return {
          field: name,
          text: `${name}: ${difference(previousFields.get(id)?.value, nextFields.get(id)?.value)}`,
        };
      const verb = !previousFields.has(id) ? "added" : !nextFields.has(id) ? "gone" : "changed";
      const comesOrGoes = list === "parts" && verb !== "changed" ? { comesOrGoes: name } : {};
      return { field: name, text: `${lists[list]}${name} ${verb}`, ...comesOrGoes };
    });
}

/**
 * Parts that Talos writes into a generated configuration. A patch of such a part may repeat the value that is already
 * there (talos, pkg/machinery/config/generate/init.go and worker.go).
 */
const generated = [
  "cluster",
  "debug",
  "persist",
  "version",
  "HostnameConfig",
  "machine.ca",
  "machine.certSANs",
  "machine.features",
  "machine.install",
  "machine.nodeLabels",
  "machine.token",
  "machine.type",
  "machine.kubelet.image",
  "machine.kubelet.defaultRuntimeSeccompProfileEnabled",
  "machine.kubelet.disableManifestsDirectory",
];

/**
 * Whether a part of an owned configuration comes only from patches, because Talos does not generate it. Such a part
 * appears and disappears with the patches.
 */
export const isOfPackage = (part: string, { configuration }: MachineState): boolean =>
  configuration === "owned" &&
  !generated.some(
    (generatedPart) => part === generatedPart || part.startsWith(`${generatedPart}.`),
  );

/** A change of a value, in words. For a list: the added and removed items, or `in another order`. */
function difference(previousValue: unknown, nextValue: unknown): string {
  if (!Array.isArray(previousValue ?? []) || !Array.isArray(nextValue ?? []))
    return `${shortText(previousValue)} → ${shortText(nextValue)}`;
  const [before, after] = [(previousValue ?? []) as string[], (nextValue ?? []) as string[]];
  const removed = itemsWithout(before, after);
  const added = itemsWithout(after, before);
  const words = [
    ...(removed.length > 0
      ? [`${removed.join(" and ")} ${removed.length === 1 ? "goes" : "go"}`]
      : []),
    ...(added.length > 0
      ? [`${added.join(" and ")} ${added.length === 1 ? "comes" : "come"}`]
      : []),
  ];
  return words.length > 0 ? words.join(", ") : "in another order";
}

function itemsWithout(items: readonly string[], excludedItems: readonly string[]): string[] {
  const excluded = new Set(excludedItems);
  return items.filter((item) => !excluded.has(item));
}

/** A value in short form; for a hash its first 12 characters. */
export function shortText(value: unknown): string {
  if (value === undefined) return "(none)";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[0-9a-f]{64}$/.test(text) ? text.slice(0, 12) : text;
}
