import { isMap, isSeq, parseDocument, type Document } from "yaml";
import { systemClock, waitFor } from "../../../components/clients/clock";
import { installImage, isStaged } from "../../../components/clients/talos/configuration-text";
import { isTransient, lastLine } from "../../../components/clients/failure";
import { bootErrorsOf, driverComplaints } from "../../../components/clients/talos/console";
import { checkClient } from "../../../components/clients/talos/client-fits";
import type { TalosMachine } from "../../../components/clients/talos/talos-machine";
import { parseDriverVersion, parseModules } from "../../../components/clients/talos/driver";
import { customizationPath } from "../../../components/recipe/machine/containerd/containerd";
import type { ObservedMachine } from "../../../components/diagnosis";
import type { MachineAccess } from "../../reach/access";
import { askMachines } from "../../reach/machines";

/** What was seen of the machines, and what was not, one sentence each. */
export interface SeenMachines {
  machines: ObservedMachine[];
  unseen: string[];
  /** What the talosconfig's role may not read. */
  leftOut: string[];
}

/** Milliseconds between two tries of a machine that does not answer. */
const POLL = 250;

/**
 * Asks each machine through talosctl; nothing is changed. One that does not answer stays out, with a note.
 *
 * @param addresses Talos API addresses by node name.
 */
export async function observeMachines(addresses: Record<string, string>, access: MachineAccess): Promise<SeenMachines> {
  const seen: SeenMachines = { machines: [], unseen: [], leftOut: [] };
  const notAsked = await askMachines(Object.entries(addresses), access, async (name, talos, version) => {
    const { machine, failed } = await observePatiently(name, talos, access.patience ?? 0);
    seen.machines.push(machine);
    if (failed.length > 0) seen.unseen.push(...unfit(version, machine.talosVersion));
    for (const { what, error } of failed) {
      const why = whyNot(error, access.problem);
      const hidden = what === "configuration" && /PermissionDenied/.test(error.message);
      const about = what === "release" ? `machine ${name} (${addresses[name]})` : `machine ${name}: ${what}`;
      seen[hidden ? "leftOut" : "unseen"].push(`${about} could not be looked at: ${why}`);
    }
  });
  return {
    ...seen,
    machines: seen.machines.sort((a, b) => a.name.localeCompare(b.name)),
    unseen: [...new Set([...seen.unseen, ...notAsked])],
  };
}

/** Whether talosctl is too far from a machine that it could not be asked everything of. */
function unfit(client: string, running: string | undefined): string[] {
  if (running === undefined) return [];
  return checkClient(client, running, running).map(
    ({ field, problem, why, remedy }) => `${field}: ${problem}; ${why}; ${remedy}`,
  );
}

/** Why a machine was not looked at; a known problem of the talosconfig explains every refusal. */
function whyNot({ message }: Error, problem: string | undefined): string {
  if (/x509|tls: |broken pipe|authentication handshake|Unauthenticated/i.test(message)) {
    if (problem !== undefined) return problem;
    if (/unknown authority/i.test(message))
      return `its certificate is not of the talosconfig's cluster: the talosconfig is of another cluster, or the machine was installed again and waits in maintenance mode (${lastLine(new Error(message))})`;
  }
  return message;
}

/** Looks again when the machine went away meanwhile, as one does that boots again and again. */
async function observePatiently(
  name: string,
  machine: TalosMachine,
  patience: number,
): ReturnType<typeof observeMachine> {
  const end = systemClock.now() + patience;
  for (;;) {
    const seen = await observeMachine(name, machine);
    if (!seen.wentAway || systemClock.now() >= end) return seen;
    await answering(machine, end - systemClock.now());
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

/** Each fact by itself: a talosconfig of role os:reader may read neither the configuration nor files, and so neither modules nor driver. */
async function observeMachine(
  name: string,
  machine: TalosMachine,
): Promise<{ machine: ObservedMachine; failed: { what: string; error: Error }[]; wentAway: boolean }> {
  let wentAway = false;
  const seen: ObservedMachine = { name };
  const failed: { what: string; error: Error }[] = [];
  const facts: [string, () => Promise<void>][] = [
    ["release", async () => void (seen.talosVersion = await machine.version())],
    ["stage", async () => void (seen.stage = (await machine.status()).stage)],
    [
      "extensions",
      async () => {
        const { names, schematic, image } = await machine.extensions();
        assign(seen, "schematicId", schematic);
        assign(seen, "imageId", image);
        seen.extensions = names;
      },
    ],
    ["modules", async () => assign(seen, "modules", namesOf(await machine.read("/proc/modules")))],
    ["driver", async () => void (seen.driverVersion = driverOf(await machine.read("/proc/driver/nvidia/version")))],
    ["cards", async () => void (seen.cards = await machine.cards())],
    [
      "services",
      async () => {
        seen.services = await machine.services();
        // A talosconfig that may not read logs says less, and nothing wrong.
        const said = await Promise.all(failing(seen.services).map((name) => machine.lastWords(name).catch(() => [])));
        tell(seen, said.flat());
      },
    ],
    [
      "configuration",
      async () => {
        const { active, persistent } = await machine.configurations();
        assign(seen, "installImage", installImage(active ?? ""));
        seen.repeatedFiles = repeatedFilesOf(active);
        seen.staged = isStaged({ ...(active && { active }), ...(persistent && { persistent }) });
        assign(seen, "containerdPart", active && fileOf(active, customizationPath));
      },
    ],
    [
      "kernel log",
      async () => {
        const lines = await machine.console();
        // One that is up has nothing to say of its boot.
        if (seen.stage !== "running") seen.bootErrors = bootErrorsOf(lines);
        tell(seen, driverComplaints(lines));
      },
    ],
  ];
  for (const [what, look] of facts) {
    try {
      await look();
    } catch (error) {
      wentAway ||= isTransient(error);
      failed.push({ what, error: error as Error });
      if (what === "release") seen.errors = [(error as Error).message];
      // A machine that does not even tell its release, or does not answer any more, tells nothing else either.
      if (what === "release" || isTransient(error)) break;
    }
  }
  return { machine: seen, failed, wentAway };
}

/** NVIDIA's services that are neither up nor done. */
const failing = (services: Record<string, string>): string[] =>
  Object.keys(services).filter((name) => /^ext-nvidia-/.test(name) && !/^(?:Running|Finished)$/.test(services[name]!));

function tell(seen: ObservedMachine, lines: string[]): void {
  if (lines.length > 0) seen.errors = [...(seen.errors ?? []), ...lines];
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

/** Content of a file that a configuration writes; empty when it writes none. */
function fileOf(configuration: string, path: string): string {
  const files = documentOf(configuration)?.getIn(["machine", "files"]);
  const found = isSeq(files) ? files.items.find((file) => isMap(file) && file.get("path") === path) : undefined;
  const content: unknown = isMap(found) ? found.get("content") : undefined;
  return typeof content === "string" ? content : "";
}

/** Paths that a configuration has more than once under `machine.files`. */
export function repeatedFilesOf(configuration: string | undefined): string[] {
  const files = documentOf(configuration)?.getIn(["machine", "files"]);
  const paths = isSeq(files) ? files.items.map((file) => (isMap(file) ? String(file.get("path")) : "")) : [];
  return [...new Set(paths.filter((path, index) => path !== "" && paths.indexOf(path) !== index))];
}
