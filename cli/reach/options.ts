import { inTime } from "../../components/clients/clock";
import { accessOf, type Looking } from "./access";
import { type Given, type Option, valueOf } from "../verb";

/** Seconds after which a verb by default gives up on what has not answered. */
const WITHIN = 55;

/**
 * The options of every verb that looks at a live cluster.
 *
 * @param withoutTalosconfig What the verb leaves out where it has no talosconfig, e.g. `the report lacks the machines`.
 */
export const reachOptions = (withoutTalosconfig: string): Record<string, Option> => ({
  kubeconfig: {
    value: "FILE",
    help: "how to reach Kubernetes (default: KUBECONFIG, or ~/.kube/config)",
  },
  talosconfig: {
    value: "FILE",
    help: `how to reach the machines, through talosctl (default: TALOSCONFIG; without either, ${withoutTalosconfig})`,
  },
  within: {
    value: "SECONDS",
    help: `time limit for the whole look; whatever has not answered by then is named and left out (default: ${WITHIN})`,
  },
});

/**
 * Looks at the cluster that the options name, and gives up when their time is over.
 *
 * @param look What looks; `within` is its limit in milliseconds.
 * @throws Error where the options name no cluster or no time, or the look did not end in time.
 */
export async function lookAtCluster<T>(
  given: Given,
  look: (access: Looking, within: number) => Promise<T>,
): Promise<T> {
  const seconds = secondsOf(valueOf(given, "within"));
  const access = accessOf(
    valueOf(given, "kubeconfig"),
    valueOf(given, "talosconfig"),
    given.environment,
    new Date(),
  );
  const late = (): Error => new Error(`the look at the cluster did not end within ${seconds} s`);
  return inTime(look(access, seconds * 1000), seconds * 1000, late);
}

function secondsOf(text: string | undefined): number {
  if (text === undefined) return WITHIN;
  const seconds = Number(text);
  if (seconds >= 1 && seconds <= 3600) return seconds;
  throw new Error(
    `--within: ${text} is not a number of seconds from 1 to 3600, so there is no limit to go by; write e.g. 30`,
  );
}
