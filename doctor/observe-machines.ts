import { parseDocument } from "yaml";
import { SecretFiles } from "../components/machine/program/credentials";
import { TalosMachine } from "../components/machine/program/talos-machine";
import { Talosctl } from "../components/machine/program/talosctl";
import { parseDriverVersion, parseModules } from "../components/machine/program/verify";
import type { ObservedMachine } from "../components/recipe/observations";

/** How to look at the machines of a cluster. */
export interface MachineAccess {
  /** Program, by name or path. */
  talosctl: string;
  /** Path of the talosconfig. */
  talosconfig: string;
  /** Values of it that no message may hold. */
  secrets: readonly string[];
}

/** What was seen of the machines, and what could not be looked at, one sentence each. */
export interface SeenMachines {
  machines: ObservedMachine[];
  notes: string[];
}

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
        const { machine, notes } = await observeMachine(name, new TalosMachine(talosctl, address, version, files));
        seen.machines.push(machine);
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

/** Each fact by itself: a talosconfig of role os:reader may not read the configuration, but all the rest. */
async function observeMachine(
  name: string,
  machine: TalosMachine,
): Promise<{ machine: ObservedMachine; notes: string[] }> {
  const seen: ObservedMachine = { name };
  const notes: string[] = [];
  const facts: [string, () => Promise<void>][] = [
    ["release", async () => void (seen.talosVersion = await machine.version())],
    ["schematic", async () => assign(seen, "schematicId", await machine.schematic())],
    ["modules", async () => assign(seen, "modules", namesOf(await machine.read("/proc/modules")))],
    ["driver", async () => void (seen.driverVersion = driverOf(await machine.read("/proc/driver/nvidia/version")))],
    ["services", async () => void (seen.services = await machine.services())],
    ["install image", async () => assign(seen, "installImage", imageOf((await machine.configurations()).active))],
  ];
  for (const [what, look] of facts) {
    try {
      await look();
    } catch (error) {
      const why = (error as Error).message;
      notes.push(`${name}: ${what} could not be looked at: ${why}`);
      if (what === "release") {
        seen.errors = [why]; // a machine that does not even tell its release tells nothing else either
        break;
      }
    }
  }
  return { machine: seen, notes };
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

/** `machine.install.image` of a configuration; nothing else of it is kept, since it is full of secrets. */
function imageOf(configuration: string | undefined): string | undefined {
  // Further documents may follow; the machine's own is the first.
  const first = configuration?.split(/^---\s*$/m).find((part) => part.trim() !== "");
  const image = first === undefined ? undefined : parseDocument(first).getIn(["machine", "install", "image"]);
  return typeof image === "string" ? image : undefined;
}
