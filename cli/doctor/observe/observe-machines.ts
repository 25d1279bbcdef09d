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
import { askMachines, type FailedRead, readEach } from "../../reach/machines";
import type { ClusterObservation } from "./observe-cluster";

/** Observed facts about the machines, failed reads, and reads that the talosconfig's role forbids. */
type SeenMachines = Omit<ClusterObservation, "observations"> & { machines: ObservedMachine[] };

/** Milliseconds between two tries of a machine that does not answer. */
const POLL = 250;

/**
 * Reads from each machine through talosctl; changes nothing. If a machine does not answer, the result has the reason
 * instead of its facts.
 *
 * @param addresses Talos API addresses by node name.
 */
export async function observeMachines(
  addresses: Record<string, string>,
  access: MachineAccess,
): Promise<SeenMachines> {
  const result: SeenMachines = { machines: [], unseen: [], leftOut: [] };
  const notAsked = await askMachines(
    Object.entries(addresses),
    access,
    async (name, talos, version) => {
      const { machine, failed } = await observePatiently(name, talos, access.patience ?? 0);
      result.machines.push(machine);
      if (failed.length > 0) result.unseen.push(...versionWarning(version, machine.talosVersion));
      for (const { description: part, error } of failed) {
        const why = whyNot(error, access.problem);
        const isForbidden = part === "configuration" && /PermissionDenied/.test(error.message);
        const subject =
          part === "release" ? `machine ${name} (${addresses[name]!})` : `machine ${name}: ${part}`;
        result[isForbidden ? "leftOut" : "unseen"].push(`${subject} could not be read: ${why}`);
      }
    },
  );
  return {
    ...result,
    machines: result.machines.sort((a, b) => a.name.localeCompare(b.name)),
    unseen: [...new Set([...result.unseen, ...notAsked])],
  };
}

/** Findings about a talosctl whose version does not work with the machine's Talos release. */
const versionWarning = (client: string, running: string | undefined): string[] =>
  running === undefined ? [] : checkClient(client, running, running).map(renderFinding);

/**
 * The reason why a machine was not read. If the talosconfig has a known problem, this problem explains every refusal by
 * a machine.
 */
function whyNot({ message }: Error, problem: string | undefined): string {
  if (/x509|tls: |broken pipe|authentication handshake|Unauthenticated/i.test(message)) {
    if (problem !== undefined) return problem;
    if (/unknown authority/i.test(message))
      return `its certificate is not signed by the CA in the talosconfig: either this talosconfig belongs to another cluster, or the machine was reinstalled and waits in maintenance mode (${lastLine(new Error(message))})`;
  }
  return message;
}

/**
 * Reads a machine. If the machine stops answering during the read, e.g. because of a reboot loop, the read is repeated
 * for up to `patience` milliseconds.
 */
async function observePatiently(
  name: string,
  machine: TalosMachine,
  patience: number,
): ReturnType<typeof observeMachine> {
  const end = systemClock.now() + patience;
  for (;;) {
    const observation = await observeMachine(name, machine);
    if (!observation.wentAway || systemClock.now() >= end) return observation;
    await waitForAnswer(machine, end - systemClock.now());
  }
}

/** Waits until a machine answers or the limit is over. If the limit is over, the next reads report the reason. */
async function waitForAnswer(machine: TalosMachine, limit: number): Promise<void> {
  const isAnswering = async (): Promise<{ done: true }> =>
    machine.version().then(() => ({ done: true }));
  if (limit > 0)
    await waitFor(systemClock, {
      subject: "the machine to answer",
      limit,
      poll: POLL,
      look: isAnswering,
    }).catch(() => {});
}

/**
 * Reads the facts of one machine. With the role os:reader, the talosconfig may not read the configuration or files. The
 * doctor then does not know modules and driver.
 */
async function observeMachine(
  name: string,
  machine: TalosMachine,
): Promise<{ machine: ObservedMachine; failed: FailedRead[]; wentAway: boolean }> {
  const observedMachine: ObservedMachine = { name };
  const errors: string[] = [];
  const failed = await readEach({
    release: async () => (observedMachine.talosVersion = await machine.version()),
    stage: async () => (observedMachine.stage = (await machine.status()).stage),
    extensions: async () => {
      const {
        names: extensions,
        schematic: schematicId,
        image: imageId,
      } = await machine.extensions();
      Object.assign(observedMachine, { extensions, ...defined({ schematicId, imageId }) });
    },
    modules: async () => {
      const text = await machine.read("/proc/modules");
      if (text !== undefined) observedMachine.modules = [...parseModules(text)];
      const commandLine = await machine.read("/proc/cmdline");
      if (commandLine !== undefined) observedMachine.commandLine = commandLine.trim();
    },
    driver: async () => (observedMachine.driverVersion = (await loadedDriver(machine)) ?? null),
    cards: async () => {
      const cardIds = await machine.cards();
      Object.assign(observedMachine, { cards: cardIds.length, cardIds });
    },
    services: async () => (observedMachine.services = await machine.services()),
    "services' last words": async () => {
      // A talosconfig that may not read logs, or a service without a log, is no failure: the report only has fewer
      // details.
      const emptyIfMissing = (error: Error): string[] => {
        if (isTransient(error)) throw error;
        return [];
      };
      const logReads = failingServices(observedMachine.services ?? {}).map((name) =>
        machine.lastWords(name).catch(emptyIfMissing),
      );
      errors.push(...(await Promise.all(logReads)).flat());
    },
    configuration: async () => {
      const configurations = await machine.configurations();
      const { active } = configurations;
      Object.assign(observedMachine, {
        repeatedFiles: repeatedFilesOf(active),
        staged: isStaged(configurations),
      });
      const part = filesOf(active ?? "").find(({ path }) => path === customizationPath);
      const containerdPart = active && (part?.content ?? "");
      Object.assign(
        observedMachine,
        defined({ installImage: installImage(active ?? ""), containerdPart }),
      );
    },
    "containerd's configuration": async () => {
      if (
        observedMachine.talosVersion === undefined ||
        !mergesInMemory(observedMachine.talosVersion)
      )
        return;
      const merged = await machine.read(mergedConfigurationPath);
      Object.assign(observedMachine, defined({ mergedContainerd: merged }));
    },
    "kernel log": async () => {
      const lines = await machine.console();
      // Once a machine is up, errors of its boot no longer matter.
      if (observedMachine.stage !== "running") observedMachine.bootErrors = bootErrorsOf(lines);
      errors.push(...driverErrors(lines));
    },
  });
  const [first] = failed;
  if (first?.description === "release") errors.push(first.error.message);
  if (errors.length > 0) observedMachine.errors = errors;
  return {
    machine: observedMachine,
    failed,
    wentAway: failed.some(({ error }) => isTransient(error)),
  };
}

/** NVIDIA's services that are neither running nor finished. */
const failingServices = (services: Record<string, string>): string[] =>
  Object.keys(services).filter(
    (name) => /^ext-nvidia-/.test(name) && !/^(?:Running|Finished)$/.test(services[name]!),
  );

/** Paths that `machine.files` of a configuration contains more than once. */
export function repeatedFilesOf(configuration = ""): string[] {
  const paths = filesOf(configuration).map(({ path }) => path);
  return [...new Set(paths.filter((path, index) => path !== "" && paths.indexOf(path) !== index))];
}
