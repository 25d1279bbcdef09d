import { someAtATime } from "../../components/clients/clock";
import { isTransient } from "../../components/clients/failure";
import { SecretFiles } from "../../components/clients/secret-files";
import { TalosMachine } from "../../components/clients/talos/talos-machine";
import { Talosctl } from "../../components/clients/talos/talosctl";
import type { MachineAccess } from "./access";
import { endGroup, startGroup } from "../../components/clients/process-groups";

/** Share of the whole limit for one call. */
const ONE_CALL = 0.2;

/** The shortest limit in milliseconds: a program needs at least this time to start. */
const LEAST = 1_000;

/**
 * Reads from machines through talosctl, a few at a time; changes nothing.
 *
 * @param machines their names and addresses.
 * @param ask reads from one machine; it receives talosctl's version.
 * @returns one sentence for each machine that was not read within the time limit, or one for all machines if talosctl
 * does not run.
 */
export async function askMachines(
  machines: readonly (readonly [name: string, address: string])[],
  access: MachineAccess,
  ask: (name: string, machine: TalosMachine, version: string) => Promise<void>,
): Promise<string[]> {
  const { limit } = access;
  const end = limit === undefined ? Infinity : performance.now() + limit;
  const talosctl = new Talosctl({
    binary: access.talosctl,
    talosconfig: access.talosconfig,
    secrets: access.secrets,
    processes: { start: startGroup, end: endGroup },
    ...(limit === undefined ? {} : { most: Math.max(ONE_CALL * limit, LEAST) }),
  });
  const files = new SecretFiles();
  const stopTimer =
    limit === undefined ? undefined : setTimeout(() => talosctl.stop(), Math.max(limit, LEAST));
  try {
    const version = await versionOf(talosctl);
    const unseen: string[] = [];
    await someAtATime(machines, async ([name, address]) => {
      if (performance.now() < end)
        await ask(name, new TalosMachine(talosctl, address, files), version);
      else unseen.push(`machine ${name} (${address}) was not read within the time limit`);
    });
    return unseen;
  } catch (error) {
    return [`the machines could not be read: ${(error as Error).message}`];
  } finally {
    clearTimeout(stopTimer);
    talosctl.stop();
    files.close();
  }
}

/** A fact that could not be read, with the error. */
export interface FailedRead {
  description: string;
  error: Error;
}

/**
 * Reads facts of a machine one by one. A read may fail because the talosconfig's role forbids it, or because the Talos
 * release lacks the resource; the next reads go on. If the first read fails, or the machine stops answering, no further
 * read is tried.
 *
 * @param facts functions that read one fact each, by the fact's name for messages.
 * @returns the facts that could not be read.
 */
export async function readEach(
  facts: Record<string, () => Promise<unknown>>,
): Promise<FailedRead[]> {
  const failed: FailedRead[] = [];
  for (const [index, [subject, read]] of Object.entries(facts).entries()) {
    try {
      await read();
    } catch (error) {
      failed.push({ description: subject, error: error as Error });
      if (index === 0 || isTransient(error)) break;
    }
  }
  return failed;
}

/**
 * Version of talosctl.
 *
 * @throws Error if the program talosctl does not exist, or does not print its version.
 */
async function versionOf(talosctl: Talosctl): Promise<string> {
  const version = await talosctl.version();
  if (/^v\d+\.\d+\.\d+/.test(version)) return version;
  throw new Error(
    "talosctl: `talosctl version --client --short` prints no version, so this program is not talosctl; install talosctl of the machines' minor release, or set TALOS_GPU_TALOSCTL to its path",
  );
}
