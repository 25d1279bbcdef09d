import { isMap, isSeq, parseDocument, type Document } from "yaml";
import { systemClock, waitFor } from "../../components/machine/program/clock";
import { isTransient } from "../../components/machine/program/failure";
import { SecretFiles } from "../../components/machine/program/credentials";
import { TalosMachine } from "../../components/machine/program/talos-machine";
import { Talosctl } from "../../components/machine/program/talosctl";
import { parseDriverVersion, parseModules } from "../../components/machine/program/verify";
import type { ObservedMachine } from "../../components/diagnosis/observations";

/** How to look at the machines of a cluster. */
export interface MachineAccess {
  /** Program, by name or path. */
  talosctl: string;
  /** Path of the talosconfig. */
  talosconfig: string;
  /** Values of it that no message may hold. */
  secrets: readonly string[];
  /** Milliseconds to wait for a machine that does not answer, or ceases to: it may be rebooting. Default 0. */
  patience?: number;
}

/** What was seen of the machines, and what could not be looked at, one sentence each. */
export interface SeenMachines {
  machines: ObservedMachine[];
  notes: string[];
}

/** Milliseconds between two tries of a machine that does not answer. */
const POLL = 250;

/** Machines that are asked at a time. */
const AT_A_TIME = 8;

/**
 * Asks each machine through talosctl; nothing is changed. One that does not answer stays out, with a note.
 *
 * @param addresses Talos API addresses by node name.
 */
export async function observeMachines(addresses: Record<string, string>, access: MachineAccess): Promise<SeenMachines> {
  const talosctl = new Talosctl({ binary: access.talosctl, talosconfig: access.talosconfig, secrets: access.secrets });
  const files = new SecretFiles();
  try {
    const version = await talosctl.version();
    const seen: SeenMachines = { machines: [], notes: [] };
    const waiting = Object.entries(addresses);
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) {
        const [name, address] = next;
        const machine = new TalosMachine(talosctl, address, version, files);
        const { machine: found, notes } = await observePatiently(name, machine, access.patience ?? 0);
        seen.machines.push(found);
        seen.notes.push(...notes);
      }
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, worker));
    seen.machines.sort((a, b) => a.name.localeCompare(b.name));
    return seen;
  } catch (error) {
    return { machines: [], notes: [`machines could not be looked at: ${(error as Error).message}`] };
  } finally {
    talosctl.stop();
    files.close();
  }
}

/** Looks again when the machine went away meanwhile, as one does that boots again and again. */
async function observePatiently(
  name: string,
  machine: TalosMachine,
  patience: number,
): ReturnType<typeof observeMachine> {
  const end = systemClock.now() + patience;
  for (;;) {
    await answering(machine, end - systemClock.now());
    const seen = await observeMachine(name, machine);
    if (!seen.wentAway || systemClock.now() >= end) return seen;
  }
}

/** Waits until a machine answers, for so long; one that goes on not answering is looked at all the same, to tell why. */
async function answering(machine: TalosMachine, limit: number): Promise<void> {
  const look = async (): Promise<{ done: true }> => {
    await machine.version();
    return { done: true };
  };
  if (limit > 0) {
    await waitFor(systemClock, { what: "the machine to answer", limit, poll: POLL, look }).catch(() => {});
  }
}

/** Each fact by itself: a talosconfig of role os:reader may not read the configuration, but all the rest. */
async function observeMachine(
  name: string,
  machine: TalosMachine,
): Promise<{ machine: ObservedMachine; notes: string[]; wentAway: boolean }> {
  let wentAway = false;
  const seen: ObservedMachine = { name };
  const notes: string[] = [];
  const facts: [string, () => Promise<void>][] = [
    ["release", async () => void (seen.talosVersion = await machine.version())],
    ["stage", async () => void (seen.stage = (await machine.status()).stage)],
    [
      "extensions",
      async () => {
        const { schematic, ...extensions } = await machine.extensions();
        assign(seen, "schematicId", schematic);
        seen.extensions = Object.keys(extensions);
      },
    ],
    ["modules", async () => assign(seen, "modules", namesOf(await machine.read("/proc/modules")))],
    ["driver", async () => void (seen.driverVersion = driverOf(await machine.read("/proc/driver/nvidia/version")))],
    ["services", async () => void (seen.services = await machine.services())],
    [
      "configuration",
      async () => {
        const { active } = await machine.configurations();
        assign(seen, "installImage", imageOf(active));
        seen.repeatedFiles = repeatedFilesOf(active);
      },
    ],
    // One that is up has nothing to say of its boot.
    ["kernel log", async () => void (seen.stage !== "running" && (seen.bootErrors = await machine.bootErrors()))],
  ];
  for (const [what, look] of facts) {
    try {
      await look();
    } catch (error) {
      const why = (error as Error).message;
      wentAway ||= isTransient(error);
      notes.push(`${name}: ${what} could not be looked at: ${why}`);
      if (what === "release") {
        seen.errors = [why]; // a machine that does not even tell its release tells nothing else either
        break;
      }
    }
  }
  return { machine: seen, notes, wentAway };
}

function assign<K extends keyof ObservedMachine>(
  seen: ObservedMachine,
  key: K,
  value: ObservedMachine[K] | undefined,
): void {
  if (value !== undefined) seen[key] = value;
}

const namesOf = (text: string | undefined): string[] | undefined =>
  text === undefined ? undefined : [...parseModules(text)];

const driverOf = (text: string | undefined): string | null => parseDriverVersion(text ?? "") ?? null;

/** The machine's own document of a configuration; further ones may follow it. Little of it is kept: it is full of secrets. */
function documentOf(configuration: string | undefined): Document.Parsed | undefined {
  const first = configuration?.split(/^---\s*$/m).find((part) => part.trim() !== "");
  return first === undefined ? undefined : parseDocument(first);
}

/** `machine.install.image` of a configuration. */
function imageOf(configuration: string | undefined): string | undefined {
  const image = documentOf(configuration)?.getIn(["machine", "install", "image"]);
  return typeof image === "string" ? image : undefined;
}

/** Paths that a configuration has more than once under `machine.files`. */
export function repeatedFilesOf(configuration: string | undefined): string[] {
  const files = documentOf(configuration)?.getIn(["machine", "files"]);
  const paths = isSeq(files) ? files.items.map((file) => (isMap(file) ? String(file.get("path")) : "")) : [];
  return [...new Set(paths.filter((path, index) => path !== "" && paths.indexOf(path) !== index))];
}
