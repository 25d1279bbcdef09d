import type { Comparison, MachineComparison, Runs } from "./comparison";
import type { Timeline } from "../timeline/timeline";
import type { FieldChange } from "./differences";
import { foreseen } from "./foreseen";

/** A piece of the plan as people read it. Texts may have `code` and **strong** words. */
export type Block =
  | { kind: "heading"; level: 2 | 3 | 4; text: string }
  | { kind: "text"; text: string }
  | { kind: "list"; items: string[] }
  | { kind: "table"; head: string[]; rows: string[][] }
  | { kind: "difference"; title: string; lines: string[] }
  | { kind: "order"; steps: Step[] }
  | { kind: "timeline"; timeline: Timeline };

/** Machines that go at the same time. */
export interface Wave {
  machines: { name: string; reboots: string }[];
}

/** A step of the update: machines at the same time, or something that comes once. */
export type Step = Wave | { once: string; gate?: boolean };

/** Machines of a wave that a graph draws one by one. */
const drawn = 8;

/** The plan as blocks: what matters to a reviewer first. */
export function pageOf(comparison: Comparison): Block[] {
  const { stack, base, machines, findings } = comparison;
  const same = base !== undefined && isUnchanged(comparison);
  return [
    { kind: "heading", level: 2, text: `Plan of ${stack}` },
    {
      kind: "text",
      text:
        base === undefined
          ? "Compared with nothing: this is what the first update does, as far as the stack file alone can tell. The machines were not looked at."
          : same
            ? `Nothing changes against \`${base}\`.`
            : `Against \`${base}\`, if machines and cluster are still as the last update left them. **${summary(machines)}**`,
    },
    ...list(
      "Findings: the stack is refused",
      findings.map(({ field, problem, why, remedy }) => `\`${field}\`: ${problem}; ${why}; ${remedy}`),
    ),
    ...changes("What changes in the stack", comparison.stackChanges),
    ...(same ? [] : details(comparison)),
    ...list(
      "Notes",
      comparison.notes.map(({ text, isNew }) => (isNew ? `**new**: ${text}` : text)),
    ),
  ];
}

function details(comparison: Comparison): Block[] {
  const { base, machines, valueChanges, images, away } = comparison;
  const timeline = foreseen(comparison);
  return [
    { kind: "heading", level: 3, text: "Machines" },
    {
      kind: "table",
      head: ["machine", "reboots", "why", "drained", "away for at most"],
      rows: machines.map(({ name, reboots, because, drained, awayForAtMost }) => [
        name,
        `**${reboots}**`,
        because,
        drained ?? "no",
        awayForAtMost ?? "not at all",
      ]),
    },
    {
      kind: "table",
      head: ["machine", "Talos", "schematic", "driver", "CUDA"],
      rows: machines.map(({ name, before, after }) => [
        name,
        ...(["talosVersion", "schematicId", "driver", "cuda"] as const).map((field) => step(before, after, field)),
      ]),
    },
    ...machines
      .filter(({ configuration }) => configuration.length > 0)
      .map(({ name, configuration }): Block => ({
        kind: "difference",
        title: `Configuration of ${name}`,
        lines: configuration,
      })),
    { kind: "heading", level: 3, text: "In Kubernetes" },
    { kind: "text", text: releaseOf(comparison) },
    ...changes("Helm values", valueChanges),
    ...(base === undefined
      ? list(
          "Images that machines pull, besides those of the chart",
          images.map((image) => `\`${image}\``),
        )
      : []),
    ...list("What is unavailable meanwhile", away),
    { kind: "heading", level: 3, text: "Order" },
    {
      kind: "order",
      steps: stepsOf(comparison),
    },
    ...(timeline === undefined
      ? []
      : [{ kind: "heading", level: 3, text: "Timeline" } as const, { kind: "timeline", timeline } as const]),
  ];
}

/** What offers the GPUs, and whether it changes. */
function releaseOf({ base, release: { before, after }, valueChanges }: Comparison): string {
  if (base === undefined || before === undefined) return after;
  if (before !== after) return `${before} → ${after}`;
  return valueChanges.length > 0 ? `${after}, with other values` : `${after}: unchanged`;
}

/** The order of an update: machines in waves, what offers the GPUs after all or after those that go ahead, and the tests. */
function stepsOf({ waves, wavesAhead, machines, release }: Comparison): Step[] {
  const all = waves.map((names): Wave => ({
    machines: names.map((name) => ({
      name,
      reboots: machines.find((machine) => machine.name === name)?.reboots ?? "no",
    })),
  }));
  return [
    ...all.slice(0, wavesAhead),
    { once: release.after },
    ...(wavesAhead < all.length
      ? [{ once: "smoke test on those that go ahead", gate: true }, ...all.slice(wavesAhead)]
      : []),
    { once: "smoke test on every GPU machine", gate: true },
    { once: "workloads" },
  ];
}

/** Whether nothing at all is done. */
function isUnchanged({ stackChanges, machines, valueChanges, release }: Comparison): boolean {
  return (
    stackChanges.length === 0 &&
    valueChanges.length === 0 &&
    release.before === release.after &&
    machines.every(
      ({ reboots, changes, configuration }) => reboots === "no" && changes.length + configuration.length === 0,
    )
  );
}

function summary(machines: MachineComparison[]): string {
  const named = (word: string): string[] => machines.filter(({ reboots }) => reboots === word).map(({ name }) => name);
  const say = (names: string[]): string => (names.length > drawn ? `${names.length} machines` : names.join(", "));
  const [yes, perhaps] = [named("yes"), named("only if")];
  if (yes.length + perhaps.length === 0) return "No machine reboots.";
  return [
    ...(yes.length > 0 ? [`Reboots: ${say(yes)}.`] : []),
    ...(perhaps.length > 0 ? [`May reboot: ${say(perhaps)}.`] : []),
  ].join(" ");
}

function step(before: Runs | undefined, after: Runs | undefined, field: keyof Runs): string {
  const valueOf = (runs: Runs | undefined): string =>
    runs === undefined ? "(none)" : runs[field] === "" ? "none" : `\`${runs[field].slice(0, 12)}\``;
  return before === undefined || valueOf(before) === valueOf(after)
    ? valueOf(after)
    : `${valueOf(before)} → ${valueOf(after)}`;
}

function list(title: string, items: string[]): Block[] {
  return items.length === 0
    ? []
    : [
        { kind: "heading", level: 3, text: title },
        { kind: "list", items },
      ];
}

function changes(title: string, all: FieldChange[]): Block[] {
  return list(
    title,
    all.map(({ field, before, after }) =>
      after === undefined
        ? `\`${field}\` goes; it was \`${before}\``
        : before === undefined
          ? `\`${field}\` comes: \`${after}\``
          : `\`${field}\`: \`${before}\` → \`${after}\``,
    ),
  );
}

/** The table's word on reboots where its condition is not beside it. */
const inABox: Record<string, string> = { yes: "reboots", "only if": "may reboot", no: "does not reboot" };
const each: Record<string, string> = { yes: "reboot", "only if": "may reboot", no: "do not reboot" };

/** What a box of the graph says: each machine of a wave, or their number where they are many. */
export function boxesOf({ machines }: Wave): { lines: string[]; reboots: string }[] {
  if (machines.length <= drawn)
    return machines.map(({ name, reboots }) => ({ lines: [name, inABox[reboots] ?? reboots], reboots }));
  const words = [...new Set(machines.map(({ reboots }) => reboots))].sort();
  return words.map((word) => {
    const count = machines.filter(({ reboots }) => reboots === word).length;
    const says = (count === 1 ? inABox : each)[word] ?? word;
    return { lines: [count === 1 ? "1 machine" : `${count} machines`, says], reboots: word };
  });
}
