import { isDeepStrictEqual } from "node:util";
import type { MachineState } from "./state";

/** A field whose value has changed. */
export interface Change {
  text: string;
  field?: string;
  /** Part of the configuration that was added or removed. */
  comesOrGoes?: string;
}

/** Changes of the fields that identify the machine. */
export const identityChanges = (before: MachineState, after: MachineState): Change[] =>
  (["configuration", "address"] as const)
    .filter((field) => before[field] !== after[field])
    .map((field) => ({ text: `${field}: ${before[field]} → ${after[field]}` }));

/** Fields of a machine's state, grouped by the effect of a change on the machine. */
export type Group = "rebootsIfChanged" | "mayRebootIfChanged" | "changesWithoutReboot";

/** Fields that are mappings by name, each with the word for an entry in a change's text. */
const lists = { parts: "", labels: "label ", taints: "taint " } as const;

/** One entry of a state: a field, or a named entry of one of the lists. */
interface Said {
  group: Group;
  list?: keyof typeof lists;
  name: string;
  value: unknown;
}

function saidIn(state: MachineState): Map<string, Said> {
  const all = (["changesWithoutReboot", "mayRebootIfChanged", "rebootsIfChanged"] as const).flatMap(
    (group) =>
      Object.entries(state[group] ?? {}).flatMap(([field, value]): Said[] =>
        Object.hasOwn(lists, field)
          ? Object.entries(value as object).map(([name, one]) => ({
              group,
              list: field as "parts",
              name,
              value: one,
            }))
          : [{ group, name: field, value }],
      ),
  );
  return new Map(all.map((one) => [`${one.list ?? ""} ${one.name}`, one]));
}

/**
 * Changes within a group. A value that moved to another group, e.g. with a machine's first card, counts in its new
 * group.
 */
export function changesOf(before: MachineState, after: MachineState, group: Group): Change[] {
  const [was, is] = [saidIn(before), saidIn(after)];
  const rank = ({ list }: Said): number => Object.keys(lists).indexOf(list ?? "");
  return [...new Map([...is, ...[...was].filter(([id]) => !is.has(id))])]
    .filter(
      ([id, one]) =>
        one.group === group && !isDeepStrictEqual(was.get(id)?.value, is.get(id)?.value),
    )
    .sort(([, a], [, b]) => rank(a) - rank(b))
    .map(([id, { list, name }]) => {
      if (list === undefined)
        return {
          field: name,
          text: `${name}: ${difference(was.get(id)?.value, is.get(id)?.value)}`,
        };
      const verb = !was.has(id) ? "added" : !is.has(id) ? "gone" : "changed";
      const comes = list === "parts" && verb !== "changed" ? { comesOrGoes: name } : {};
      return { field: name, text: `${lists[list]}${name} ${verb}`, ...comes };
    });
}

/**
 * Values that Talos writes into a generated configuration, so that a patch may repeat an existing value (talos,
 * pkg/machinery/config/generate/init.go and worker.go).
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
 * Whether only this package sets a part of the configuration, so that the part appears and disappears with its patches.
 */
export const isOurs = (part: string, { configuration }: MachineState): boolean =>
  configuration === "owned" &&
  !generated.some((other) => part === other || part.startsWith(`${other}.`));

/** A change of a value in words. For a list: the items that were added or removed. */
function difference(was: unknown, is: unknown): string {
  if (!Array.isArray(was ?? []) || !Array.isArray(is ?? [])) return `${said(was)} → ${said(is)}`;
  const [before, after] = [(was ?? []) as string[], (is ?? []) as string[]];
  const go = without(before, after);
  const come = without(after, before);
  const told = [
    ...(go.length > 0 ? [`${go.join(" and ")} ${go.length === 1 ? "goes" : "go"}`] : []),
    ...(come.length > 0 ? [`${come.join(" and ")} ${come.length === 1 ? "comes" : "come"}`] : []),
  ];
  return told.length > 0 ? told.join(", ") : "in another order";
}

function without(items: readonly string[], others: readonly string[]): string[] {
  const there = new Set(others);
  return items.filter((item) => !there.has(item));
}

/** A value in short form: of a hash only the first characters. */
export function said(value: unknown): string {
  if (value === undefined) return "(none)";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[0-9a-f]{64}$/.test(text) ? text.slice(0, 12) : text;
}
