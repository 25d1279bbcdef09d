import { systemClock, waitFor } from "../../../components/clients/clock";
import {
  filesOf,
  installImage,
  isStaged,
} from "../../../components/clients/talos/configuration-text";
import { isTransient, lastLine } from "../../../components/clients/failure";
import { bootErrorsOf, driverErrors } from "../../../components/clients/talos/console";
import { checkClient } from "../../../components/clients/talos/client-fits";
import type { TalosMachine } from "../../../components/clients/talos/talos-machine";
import { loadedDriver, parseModules } from "../../../components/clients/talos/driver";
import { renderFinding } from "../../../components/recipe/index";
import { defined } from "../../../components/recipe/mapping";
import { customizationPath } from "../../../components/recipe/machine/containerd/containerd";
import {
  mergedConfigurationPath,
  mergesInMemory,
} from "../../../components/recipe/machine/containerd/effective";
import type { ObservedMachine } from "../../../components/diagnosis";
import type { MachineAccess } from "../../reach/access";
import { askMachines, type Failed, lookAtEach } from "../../reach/machines";
import type { Seen } from "./observe-cluster";

/** Observed facts about the machines, failed reads, and parts that the talosconfig's role may not read. */
type SeenMachines = Omit<Seen, "observations"> & { machines: ObservedMachine[] };

/** Milliseconds between two tries of a machine that does not answer. */
const POLL = 250;

/**
 * Reads from each machine through talosctl; changes nothing. A machine that does not answer is left out, with a note.
 *
 * @param addresses Talos API addresses by node name.
 */
export async function observeMachines(
  addresses: Record<string, string>,
  access: MachineAccess,
): Promise<SeenMachines> {
  const seen: SeenMachines = { machines: [], unseen: [], leftOut: [] };
  const notAsked = await askMachines(
    Object.entries(addresses),
    access,
    async (name, talos, version) => {
      const { machine, failed } = await observePatiently(name, talos, access.patience ?? 0);
      seen.machines.push(machine);
      if (failed.length > 0) seen.unseen.push(...unfit(version, machine.talosVersion));
      for (const { what, error } of failed) {
        const why = whyNot(error, access.problem);
        const hidden = what === "configuration" && /PermissionDenied/.test(error.message);
        const about =
          what === "release" ? `machine ${name} (${addresses[name]!})` : `machine ${name}: ${what}`;
        seen[hidden ? "leftOut" : "unseen"].push(`${about} could not be read: ${why}`);
      }
    },
  );
  return {
    ...seen,
    machines: seen.machines.sort((a, b) => a.name.localeCompare(b.name)),
    unseen: [...new Set([...seen.unseen, ...notAsked])],
  };
}

/** Findings about a talosctl whose version is too far from the machine's. */
const unfit = (client: string, running: string | undefined): string[] =>
  running === undefined ? [] : checkClient(client, running, running).map(renderFinding);

/** The reason why a machine was not read. A known problem of the talosconfig explains every refusal. */
function whyNot({ message }: Error, problem: string | undefined): string {
  if (/x509|tls: |broken pipe|authentication handshake|Unauthenticated/i.test(message)) {
    if (problem !== undefined) return problem;
    if (/unknown authority/i.test(message))
      return `its certificate is not signed by the CA in the talosconfig: either this talosconfig belongs to another cluster, or the machine was reinstalled and waits in maintenance mode (${lastLine(new Error(message))})`;
  }
  return message;
}

/** Reads again if the machine stopped answering meanwhile, e.g. because of a reboot loop. */
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

/** Waits until a machine answers or the limit is over. After the limit, the reads that follow report the reason. */
async function answering(machine: TalosMachine, limit: number): Promise<void> {
  const look = async (): Promise<{ done: true }> => machine.version().then(() => ({ done: true }));
  if (limit > 0)
    await waitFor(systemClock, { what: "the machine to answer", limit, poll: POLL, look }).catch(
      () => {},
    );
}

/** Parts that a talosconfig of role os:reader may not read: the configuration and files, so modules and driver. */
async function observeMachine(
  name: string,
  machine: TalosMachine,
): Promise<{ machine: ObservedMachine; failed: Failed[]; wentAway: boolean }> {
  const seen: ObservedMachine = { name };
  const errors: string[] = [];
  const failed = await lookAtEach({
    release: async () => (seen.talosVersion = await machine.version()),
    stage: async () => (seen.stage = (await machine.status()).stage),
    extensions: async () => {
      const {
        names: extensions,
        schematic: schematicId,
        image: imageId,
      } = await machine.extensions();
      Object.assign(seen, { extensions, ...defined({ schematicId, imageId }) });
    },
    modules: async () => {
      const text = await machine.read("/proc/modules");
      if (text !== undefined) seen.modules = [...parseModules(text)];
      const commandLine = await machine.read("/proc/cmdline");
      if (commandLine !== undefined) seen.commandLine = commandLine.trim();
    },
    driver: async () => (seen.driverVersion = (await loadedDriver(machine)) ?? null),
    cards: async () => {
      const cardIds = await machine.cards();
      Object.assign(seen, { cards: cardIds.length, cardIds });
    },
    services: async () => (seen.services = await machine.services()),
    "services' last words": async () => {
      // A talosconfig that may not read logs, or a service without a log, is no failure: the report only has fewer
      // details.
      const notThere = (error: Error): string[] => {
        if (isTransient(error)) throw error;
        return [];
      };
      const asked = failing(seen.services ?? {}).map((name) =>
        machine.lastWords(name).catch(notThere),
      );
      errors.push(...(await Promise.all(asked)).flat());
    },
    configuration: async () => {
      const configurations = await machine.configurations();
      const { active } = configurations;
      Object.assign(seen, {
        repeatedFiles: repeatedFilesOf(active),
        staged: isStaged(configurations),
      });
      const part = filesOf(active ?? "").find(({ path }) => path === customizationPath);
      const containerdPart = active && (part?.content ?? "");
      Object.assign(seen, defined({ installImage: installImage(active ?? ""), containerdPart }));
    },
    "containerd's configuration": async () => {
      if (seen.talosVersion === undefined || !mergesInMemory(seen.talosVersion)) return;
      const merged = await machine.read(mergedConfigurationPath);
      Object.assign(seen, defined({ mergedContainerd: merged }));
    },
    "kernel log": async () => {
      const lines = await machine.console();
      // Once a machine is up, errors of its boot no longer matter.
      if (seen.stage !== "running") seen.bootErrors = bootErrorsOf(lines);
      errors.push(...driverErrors(lines));
    },
  });
  const [first] = failed;
  if (first?.what === "release") errors.push(first.error.message);
  if (errors.length > 0) seen.errors = errors;
  return { machine: seen, failed, wentAway: failed.some(({ error }) => isTransient(error)) };
}

/** NVIDIA's services that are neither running nor finished. */
const failing = (services: Record<string, string>): string[] =>
  Object.keys(services).filter(
    (name) => /^ext-nvidia-/.test(name) && !/^(?:Running|Finished)$/.test(services[name]!),
  );

/** Paths that `machine.files` of a configuration contains more than once. */
export function repeatedFilesOf(configuration = ""): string[] {
  const paths = filesOf(configuration).map(({ path }) => path);
  return [...new Set(paths.filter((path, index) => path !== "" && paths.indexOf(path) !== index))];
}
