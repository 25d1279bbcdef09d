import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { planCluster } from "../../../components/recipe";
import type { LabEngineOptions, Progress, RunResult } from "../../../lab/engine";
import type { MachineState } from "../../../lab/machines";
import { parseOptions } from "../../../lab/options";
import { takeSnapshot } from "../../../lab/run/take-snapshot";
import type { RunningLab } from "../../../lab/run/running-lab";
import { stackConfiguration } from "../../../lab/run/stack-configuration";
import { engineConfig, narrate, openEngine } from "../../../lab/run/updates";
import type { Session } from "../../../lab/session/session";
import { untilSeen } from "../../../lab/until";
import { furtherOptions } from "../support/further-options";
import { descendants } from "../../support/processes";
import { clusterOf } from "../../../stacks/stack-file";
import { openLab } from "./run-as-program";

/** A lab whose stack a test updates, edits, kills and destroys. */
export interface StackTestBed {
  lab: RunningLab;
  /** Sets configuration keys of the stack, or secret ones; undefined removes a key. */
  edit(changes: Record<string, unknown>, secrets?: Record<string, string>): Promise<void>;
  /** Reboots of all machines so far. */
  reboots(): Promise<number>;
  /** Reboots a machine as its owner does, and waits until it is ready. */
  reboot(machine: string): Promise<void>;
}

/** Longest reboot of a lab machine, in seconds. */
const rebootSeconds = 60;

/**
 * Starts a lab with the cluster of a stack.
 *
 * @param stack file of the stack
 * @param labOptions further options of the lab
 * @param checkpoints `each` if the test kills the engine
 */
export async function startStackTestBed(
  session: Session,
  stack: string,
  labOptions: string[] = [],
  checkpoints?: LabEngineOptions["checkpoints"],
): Promise<StackTestBed> {
  const options = parseOptions(["--stack", stack, ...labOptions, ...furtherOptions]);
  const { config, spec } = stackConfiguration(stack, options);
  const lab = await openLab(session, options, spec, config);
  [lab.initialSnapshot, lab.engine] = await Promise.all([
    takeSnapshot(lab),
    openEngine(lab, undefined, checkpoints),
  ]);
  return {
    lab,
    edit: async (changes, secrets = {}) => {
      const config = Object.entries({ ...lab.config, ...changes }).filter(
        ([, value]) => value !== undefined,
      );
      lab.earlierPlans.push(planCluster(lab.spec));
      lab.config = Object.fromEntries(config);
      lab.spec = clusterOf(lab.config);
      const secretEntries = Object.entries(secrets).map(([key, value]) => [
        `talos-gpu:${key}`,
        value,
      ]);
      await lab.engine.configure(
        engineConfig(lab),
        Object.fromEntries(secretEntries) as Record<string, string>,
      );
    },
    reboots: async () =>
      Object.values(await lab.machines.state()).reduce((sum, { reboots }) => sum + reboots, 0),
    reboot: async (machine) => {
      const state = async (): Promise<MachineState> => (await lab.machines.state())[machine]!;
      const { bootId, address } = await state();
      const rebootCommand = [
        "--talosconfig",
        session.dir("talosconfig"),
        "--nodes",
        address,
        "reboot",
        "--wait=false",
      ];
      await promisify(execFile)(lab.tools.talosctl, rebootCommand);
      const isBack = ({ bootId: newBootId, ready }: MachineState): boolean =>
        newBootId !== bootId && ready;
      await untilSeen(
        `${machine} rebooted`,
        { seconds: rebootSeconds, signal: session.signal },
        state,
        isBack,
      );
    },
  };
}

/** Moment at which an update is stopped: an output line, or an object in the cluster. */
export type Moment =
  | { isReachedBy: (progress: Progress) => boolean }
  | { isReachedIn: (lab: RunningLab) => Promise<boolean> };

/**
 * Runs an update or a destroy until a moment, and stops it there: by Ctrl-C, or by killing Pulumi, Helm and the machine
 * program at once, as a power failure does.
 *
 * @returns Its result, and whether it reached the moment.
 */
export async function runUntilStopped(
  { lab }: StackTestBed,
  verb: "up" | "destroy",
  signal: "SIGINT" | "SIGKILL",
  moment: Moment,
): Promise<{ result: RunResult; reached: boolean }> {
  let reached = false;
  const lines: string[] = [];
  const recordLines = narrate((line) => void lines.push(line));
  const stop = (): void => {
    if (reached) return;
    reached = true;
    if (signal === "SIGINT") lab.engine.cancel();
    else killAll();
  };
  const ended = new AbortController();
  const watch =
    "isReachedIn" in moment
      ? waitUntil(() => moment.isReachedIn(lab), ended.signal).then(stop, () => {})
      : undefined;
  const result = await lab.engine[verb]({
    onEvent: (progress) => {
      recordLines(progress);
      if ("isReachedBy" in moment && moment.isReachedBy(progress)) stop();
    },
    signal: lab.session.signal,
  });
  ended.abort();
  await watch;
  if (!reached) console.error(lines.join("\n"));
  return { result, reached };
}

async function waitUntil(condition: () => Promise<boolean>, aborted: AbortSignal): Promise<void> {
  while (!(await condition().catch(() => false))) {
    aborted.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, 50)); // checking costs milliseconds, and each moment lasts seconds
  }
}

/**
 * Command lines of the processes to kill, in this order. Helm, programs and plugins come before Pulumi: a process that
 * notices Pulumi's end must not clean up.
 */
const killOrder = [
  /(^|\/)helm\0/,
  /program\.js/,
  /(^|\/)talosctl\0/,
  /(^|\/)pulumi-(resource|language)-[^/]*\0/,
  /(^|\/)pulumi\0/,
];

function killAll(): void {
  const processes = descendants(process.pid);
  for (const pattern of killOrder)
    for (const { pid } of processes.filter(({ command }) => pattern.test(command))) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // the process has already ended
      }
    }
}
