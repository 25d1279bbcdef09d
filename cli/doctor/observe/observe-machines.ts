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
 * Asks each machine through talosctl; nothing is changed. One that does not answer stays out, with a note.
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
        seen[hidden ? "leftOut" : "unseen"].push(`${about} could not be looked at: ${why}`);
      }
    },
  );
  return {
    ...seen,
    machines: seen.machines.sort((a, b) => a.name.localeCompare(b.name)),
    unseen: [...new Set([...seen.unseen, ...notAsked])],
  };
}

/** Whether talosctl is too far from a machine that it could not be asked everything of. */
const unfit = (client: string, running: string | undefined): string[] =>
  running === undefined ? [] : checkClient(client, running, running).map(renderFinding);

/** Why a machine was not looked at; a known problem of the talosconfig explains every refusal. */
function whyNot({ message }: Error, problem: string | undefined): string {
  if (/x509|tls: |broken pipe|authentication handshake|Unauthenticated/i.test(message)) {
    if (problem !== undefined) return problem;
    if (/unknown authority/i.test(message))
      return `its certificate is not of the talosconfig's cluster: the talosconfig is of another cluster, or the machine was installed again and waits in maintenance mode (${lastLine(new Error(message))})`;
  }
  return message;
}

/** Looks again if the machine stopped answering meanwhile, e.g. because it reboots again and again. */
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

/** Waits until a machine answers, or the limit is over: what then fails to be looked at tells why. */
async function answering(machine: TalosMachine, limit: number): Promise<void> {
  const look = async (): Promise<{ done: true }> => machine.version().then(() => ({ done: true }));
  if (limit > 0)
    await waitFor(systemClock, { what: "the machine to answer", limit, poll: POLL, look }).catch(
      () => {},
    );
}

/** A talosconfig of role os:reader may read neither the configuration nor files, and so neither modules nor driver. */
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
      // With a talosconfig that may not read logs there are fewer errors to tell, which is no failure; and a service
      // without a log is none either.
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
      // Once a machine is up, errors of its boot are over.
      if (seen.stage !== "running") seen.bootErrors = bootErrorsOf(lines);
      errors.push(...driverErrors(lines));
    },
  });
  const [first] = failed;
  if (first?.what === "release") errors.push(first.error.message);
  if (errors.length > 0) seen.errors = errors;
  return { machine: seen, failed, wentAway: failed.some(({ error }) => isTransient(error)) };
}

/** NVIDIA's services that are neither up nor done. */
const failing = (services: Record<string, string>): string[] =>
  Object.keys(services).filter(
    (name) => /^ext-nvidia-/.test(name) && !/^(?:Running|Finished)$/.test(services[name]!),
  );

/** Paths that a configuration has more than once under `machine.files`. */
export function repeatedFilesOf(configuration = ""): string[] {
  const paths = filesOf(configuration).map(({ path }) => path);
  return [...new Set(paths.filter((path, index) => path !== "" && paths.indexOf(path) !== index))];
}
