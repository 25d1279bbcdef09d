import { isDeepStrictEqual } from "node:util";
import type { MachineState } from "./state";

/** One field that is not as before. */
export interface Change {
  text: string;
  field?: string;
  /** Part of the configuration that is new, or there no longer. */
  comesOrGoes?: string;
}

/** Changes of what the machine is known by. */
export function identityChanges(before: MachineState, after: MachineState): Change[] {
  return (["configuration", "address"] as const)
    .filter((field) => before[field] !== after[field])
    .map((field) => ({ text: `${field}: ${before[field]} → ${after[field]}` }));
}

/** Fields of a machine's state, by what a change of them does to it. */
export type Group = "rebootsIfChanged" | "mayRebootIfChanged" | "changesWithoutReboot";

/** Changes of a group. A part that moved between groups, as with a first card, counts where it is now. */
export function changesOf(before: MachineState, after: MachineState, group: Group): Change[] {
  const now = after[group] ?? {};
  const all = (state: MachineState): Record<string, unknown> => ({
    ...state.changesWithoutReboot,
    ...state.mayRebootIfChanged,
    ...state.rebootsIfChanged,
  });
  const was = all(before);
  const is = all(after);
  const plain = [...new Set([...Object.keys(now), ...Object.keys(before[group] ?? {})])].filter(
    (key) => !isListOfNames(key) && (key in now || !(key in is)),
  );
  return [
    ...plain
      .filter((key) => !isDeepStrictEqual(was[key], is[key]))
      .map((key) => ({ field: key, text: `${key}: ${difference(was[key], is[key])}` })),
    ...(["parts", "labels", "taints"] as const).flatMap((list) => namedChanges(before, after, group, list)),
  ];
}

const isListOfNames = (key: string): boolean => ["parts", "labels", "taints"].includes(key);

function namedChanges(
  before: MachineState,
  after: MachineState,
  group: Group,
  list: "parts" | "labels" | "taints",
): Change[] {
  const everywhere = (state: MachineState): Record<string, string> => ({
    ...state.changesWithoutReboot[list],
    ...state.rebootsIfChanged[list],
  });
  const [was, is] = [everywhere(before), everywhere(after)];
  const here = (state: MachineState): string[] => Object.keys(state[group]?.[list] ?? {});
  const names = [...here(after), ...here(before).filter((name) => !Object.hasOwn(is, name))];
  return names
    .filter((name) => was[name] !== is[name])
    .map((name) => {
      const verb = !Object.hasOwn(was, name) ? "added" : !Object.hasOwn(is, name) ? "gone" : "changed";
      const kind = list === "parts" ? "" : list === "labels" ? "label " : "taint ";
      return {
        field: name,
        text: `${kind}${name} ${verb}`,
        ...(list === "parts" && verb !== "changed" ? { comesOrGoes: name } : {}),
      };
    });
}

/**
 * What Talos writes into a configuration that it generates, so that a patch may say what is there anyway (talos,
 * pkg/machinery/config/generate/init.go and worker.go).
 */
const generated = [
  "cluster",
  "machine.ca",
  "machine.certSANs",
  "machine.features",
  "machine.install",
  "machine.kubelet.image",
  "machine.kubelet.defaultRuntimeSeccompProfileEnabled",
  "machine.kubelet.disableManifestsDirectory",
  "machine.nodeLabels",
  "machine.token",
  "machine.type",
  "debug",
  "persist",
  "version",
  "HostnameConfig",
];

/** Whether nobody but us says a part of the configuration, so that it comes and goes with our patches. */
export function isOurs(part: string, { configuration }: MachineState): boolean {
  return configuration === "owned" && !generated.some((other) => part === other || part.startsWith(`${other}.`));
}

/** How a value changed; of a list, what came and what went. */
function difference(was: unknown, is: unknown): string {
  if (!Array.isArray(was ?? []) || !Array.isArray(is ?? [])) return `${said(was)} → ${said(is)}`;
  const [before, after] = [(was ?? []) as string[], (is ?? []) as string[]];
  const go = before.filter((item) => !after.includes(item));
  const come = after.filter((item) => !before.includes(item));
  const told = [
    ...(go.length > 0 ? [`${go.join(" and ")} ${go.length === 1 ? "goes" : "go"}`] : []),
    ...(come.length > 0 ? [`${come.join(" and ")} ${come.length === 1 ? "comes" : "come"}`] : []),
  ];
  return told.length > 0 ? told.join(", ") : "in another order";
}

/** A value in short: a hash by its first characters. */
export function said(value: unknown): string {
  if (value === undefined) return "(none)";
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return /^[0-9a-f]{64}$/.test(text) ? text.slice(0, 12) : text;
}
