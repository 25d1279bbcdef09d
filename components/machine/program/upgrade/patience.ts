import type { UpgradeLimits } from "../../../recipe/effect/upgrade-phases";
import { formatDuration, parseDuration } from "../../../recipe/rules/duration";
import { LimitReached, waitFor, type Clock } from "../../../clients/clock";
import { Failure } from "../../../clients/failure";
import type { UpgradeTask } from "../task";

/** Milliseconds that a machine gets to answer at the start, unless it is seen to be on its way up from an earlier run. */
const REACH_LIMIT = 300_000;

/** Who is asked, and how often. */
export interface Asked {
  clock: Clock;
  /** Node name of the machine. */
  machine: string;
  address: string;
  /** Milliseconds that a reboot may take. */
  reboot: number;
  /** Milliseconds between two tries. */
  poll: number;
}

/** Milliseconds in which a machine that is up answers. */
export const patienceOf = ({ reboot }: Pick<Asked, "reboot">): number => Math.min(REACH_LIMIT, reboot);

/** Asks again while the machine does not answer: one dropped connection must not end an upgrade. */
export async function patiently<T>(asked: Asked, ask: () => Promise<T>): Promise<T> {
  const { clock, machine, address, poll } = asked;
  const limit = patienceOf(asked);
  try {
    const what = `an answer of machine ${machine}`;
    return await waitFor(clock, { what, limit, poll, look: async () => ({ done: await ask() }) });
  } catch (error) {
    if (!(error instanceof LimitReached)) throw error;
    throw new Failure([
      {
        field: `machines.${machine}`,
        problem: `it stopped answering for ${formatDuration(limit)} (last: ${error.missing})`,
        why: "its state is not known; its node stays cordoned if it was drained",
        remedy: `look at its console and \`talosctl -n ${address} dmesg\`, then run again: the program goes on from what it finds`,
      },
    ]);
  }
}

/** Limits of a run, in milliseconds. */
export function limitsOf({ timeouts }: UpgradeTask): UpgradeLimits {
  return {
    pull: parseDuration(timeouts.pull),
    drain: parseDuration(timeouts.drain),
    reboot: parseDuration(timeouts.reboot),
    verify: parseDuration(timeouts.verify),
  };
}
