import { inTime } from "../../components/clients/clock";
import { accessOf, type ClusterAccess } from "./access";
import { type ParsedArgs, type Option, valueOf } from "../verb";

/** Default number of seconds after which a verb ends reads without an answer. */
const WITHIN = 55;

/**
 * The options of every verb that reads a live cluster.
 *
 * @param withoutTalosconfig what the verb leaves out without a talosconfig, e.g. `the report lacks the machines`.
 */
export const reachOptions = (withoutTalosconfig: string): Record<string, Option> => ({
  kubeconfig: {
    value: "FILE",
    help: "kubeconfig of the cluster (default: KUBECONFIG, or ~/.kube/config)",
  },
  talosconfig: {
    value: "FILE",
    help: `talosconfig of the cluster, for talosctl (default: TALOSCONFIG; without a talosconfig ${withoutTalosconfig})`,
  },
  within: {
    value: "SECONDS",
    help: `time limit for all reads; parts that were not read by then are reported and left out (default: ${WITHIN})`,
  },
});

/**
 * Reads the cluster that the options name, within the time limit from the options.
 *
 * @param read function that reads; `within` is its limit in milliseconds.
 * @throws Error if the options name no cluster or no valid time, or the reads did not end in time.
 */
export async function readWithAccess<T>(
  args: ParsedArgs,
  read: (access: ClusterAccess, timeLimit: number) => Promise<T>,
): Promise<T> {
  const seconds = secondsOf(valueOf(args, "within"));
  const access = accessOf(
    valueOf(args, "kubeconfig"),
    valueOf(args, "talosconfig"),
    args.environment,
    new Date(),
  );
  const timeoutError = (): Error => new Error(`the cluster could not be read within ${seconds} s`);
  return inTime(read(access, seconds * 1000), seconds * 1000, timeoutError);
}

function secondsOf(text: string | undefined): number {
  if (text === undefined) return WITHIN;
  const seconds = Number(text);
  if (seconds >= 1 && seconds <= 3600) return seconds;
  throw new Error(`--within: ${text} is not a number of seconds from 1 to 3600; write e.g. 30`);
}
