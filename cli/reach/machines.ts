import { someAtATime } from "../../components/clients/clock";
import { isTransient } from "../../components/clients/failure";
import { SecretFiles } from "../../components/clients/secret-files";
import { TalosMachine } from "../../components/clients/talos/talos-machine";
import { Talosctl } from "../../components/clients/talos/talosctl";
import type { MachineAccess } from "./access";
import { endGroup, startGroup } from "../../components/clients/process-groups";

/** Part of the limit for all that one call has. */
const ONE_CALL = 0.2;

/** Milliseconds that is the least limit of anything: with less no program would start. */
const LEAST = 1_000;

/**
 * Asks machines through talosctl, a few at a time; changes nothing.
 *
 * @param machines their names and addresses.
 * @param ask asks one of them; it gets talosctl's version.
 * @returns what was not looked at, one sentence each: machines whose turn did not come in time, or all of them without a talosctl.
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
  const stopping =
    limit === undefined ? undefined : setTimeout(() => talosctl.stop(), Math.max(limit, LEAST));
  try {
    const version = await versionOf(talosctl);
    const unseen: string[] = [];
    await someAtATime(machines, async ([name, address]) => {
      if (performance.now() < end)
        await ask(name, new TalosMachine(talosctl, address, files), version);
      else unseen.push(`machine ${name} (${address}) was not looked at: the time was over`);
    });
    return unseen;
  } catch (error) {
    return [`the machines could not be looked at: ${(error as Error).message}`];
  } finally {
    clearTimeout(stopping);
    talosctl.stop();
    files.close();
  }
}

/** Something that could not be looked at, and why. */
export interface Failed {
  what: string;
  error: Error;
}

/**
 * Looks at facts of a machine, each by itself: what a role may not read, or a release does not have, leaves the others. A machine that does
 * not even tell the first, or does not answer any more, tells nothing else either.
 *
 * @param facts by what they are called where they cannot be looked at.
 * @returns those that could not be looked at.
 */
export async function lookAtEach(facts: Record<string, () => Promise<unknown>>): Promise<Failed[]> {
  const failed: Failed[] = [];
  for (const [index, [what, look]] of Object.entries(facts).entries()) {
    try {
      await look();
    } catch (error) {
      failed.push({ what, error: error as Error });
      if (index === 0 || isTransient(error)) break;
    }
  }
  return failed;
}

/** @throws Error when what is called talosctl is not there, or does not say what it is. */
async function versionOf(talosctl: Talosctl): Promise<string> {
  const version = await talosctl.version();
  if (/^v\d+\.\d+\.\d+/.test(version)) return version;
  throw new Error(
    "talosctl: `talosctl version --client --short` prints no version, so this program is not talosctl; install the one of the machines' minor release, or name it by TALOS_GPU_TALOSCTL",
  );
}
