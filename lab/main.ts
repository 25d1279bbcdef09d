import * as fs from "node:fs";
import * as path from "node:path";
import { terminalOf } from "../cli/terminal/terminal";
import { fixes } from "../components/diagnosis";
import {
  checkCluster,
  type ClusterSpec,
  type Finding,
  InvalidStackError,
} from "../components/recipe";
import { bringUp } from "./cluster/bring-up";
import type { Lab } from "./cluster/lab";
import { withHops } from "./cluster/real-images";
import { runCases } from "./node/gpu/run";
import { renderCases } from "./node/gpu/table";
import { type LabOptions, parseOptions, usage, accessInstructions } from "./options";
import { runPhases } from "./phases";
import { refusalsOf } from "./run/diagnose-lab";
import { emptyReport, renderReport, totalOf } from "./run/report";
import { environmentForOwnProgram, ownProgramInstructions } from "./run/own-program";
import { beforeStack, runStack } from "./run/run-stack";
import { runningLab } from "./run/running-lab";
import { Session } from "./session/session";
import { showOnStandardError } from "./show";
import { stackConfiguration } from "./run/stack-configuration";
import { stackNameOf, stackNames } from "../stacks/stack-file";

/** Runs the lab, and gives the exit status. */
async function main(argv: readonly string[]): Promise<number> {
  const options = parseOptions(argv);
  if (options.show) {
    console.log(requestedText(options));
    return 0;
  }
  if (options.cases.length > 0) return runCardCases(options);
  const begin = performance.now();
  const show = showOnStandardError(options.verbose);
  const stacks = [options.stack, ...options.then].map((stack) =>
    stackConfiguration(stack, options, options.without),
  );
  // Like the preview of a user's Pulumi. With Pulumi's own host the engine prints it.
  const findings =
    options.pulumi === "lab" && options.without.length === 0 ? checkCluster(stacks[0]!.spec) : [];
  if (findings.length > 0) return refuse(options, findings);
  return inSession(async (session) => {
    const stackReleases = stacks.flatMap(({ spec }) => releasesOf(spec));
    const talosReleases = [
      ...new Set(options.machines === "real" ? withHops(stackReleases) : stackReleases),
    ];
    const laterSpecs = stacks.slice(1).map(({ spec }) => spec);
    const lab = {
      options,
      show,
      session,
      laterSpecs,
      talosReleases,
      without: options.without,
      ...stacks[0]!,
    } as unknown as Lab; // the phases add the rest
    await runPhases(bringUp, lab);
    if (options.pulumi === "own") return serveOwnProgram(lab);
    const report = await runStack(lab, stacks.slice(1));
    show.end({
      title: "total",
      ok: report.ok,
      detail: totalOf(report),
      seconds: (performance.now() - begin) / 1000,
    });
    const screen = terminalOf(process.stdout, process.env);
    process.stdout.write(
      options.json ? `${JSON.stringify(report)}\n` : `${renderReport(report, screen)}\n`,
    );
    if (options.keep) await keepRunning(lab);
    return report.ok ? 0 : 1;
  });
}

/** Throws the findings if the checks refuse the stack, since no machine would come up. */
function refuse({ json, stack }: LabOptions, findings: Finding[]): number {
  console.error(new InvalidStackError([...findings]).message);
  const report = { ...emptyReport(stackNameOf(stack), false), failures: refusalsOf(findings) };
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`);
  return 1;
}

/** Every Talos release that a stack or one of its machines names. */
const releasesOf = ({ talosVersion, machines }: ClusterSpec): string[] => [
  talosVersion,
  ...Object.values(machines).flatMap((machine) => machine.talosVersion ?? []),
];

/**
 * Runs a function with a session, and always closes the session. If a signal stops it, the exit status is the signal's.
 */
async function inSession(run: (session: Session) => Promise<number>): Promise<number> {
  const session = new Session();
  const exitStatusAfterStop = stopOnSignals(session);
  try {
    return await run(session);
  } catch (error) {
    if (exitStatusAfterStop() !== undefined) return exitStatusAfterStop()!;
    throw error;
  } finally {
    await session.close();
  }
}

async function runCardCases(options: LabOptions): Promise<number> {
  return inSession(async (session) => {
    const report = await runCases(options, session);
    const table = `${renderCases(report)}\n`;
    process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : table);
    if (options.table !== undefined) fs.writeFileSync(options.table, table);
    return report.ok ? 0 : 1;
  });
}

function requestedText({ show }: LabOptions): string {
  if (show === "fixes")
    return fixes.map((fix) => `${fix.id}\n  ${fix.does}\n  without it: ${fix.symptom}`).join("\n");
  if (show === "stacks") return stackNames().join("\n");
  return usage();
}

/**
 * Handles Ctrl-C: once, the lab stops in order; twice, it stops at once, and the janitor cleans up. The lab also stops
 * if its output loses its reader. Gives the exit status after such a stop.
 */
function stopOnSignals(session: Session): () => number | undefined {
  let status: number | undefined;
  const exitStatuses = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;
  for (const [signal, exitStatus] of Object.entries(exitStatuses)) {
    process.on(signal, () => {
      if (status !== undefined) process.exit(exitStatus);
      status = exitStatus;
      // Ends the redrawn line.
      console.error(
        `${process.stderr.isTTY ? "\n" : ""}stopping; press Ctrl-C again to stop at once`,
      );
      session.abort(`stopped by ${signal}`);
    });
  }
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE") throw error;
      status ??= 141; // 128 + SIGPIPE, the status of other programs in this case
      session.abort("the reader of the lab's output has closed it");
    });
  }
  return () => status;
}

/** Brings up the cluster of a stack for the user's own program. */
async function serveOwnProgram(lab: Lab): Promise<number> {
  const folder = path.resolve(process.env["INIT_CWD"] ?? process.cwd(), lab.options.program ?? ".");
  await runPhases([...beforeStack(lab.options, lab.spec)], runningLab(lab, emptyReport("", true)));
  const environment = await environmentForOwnProgram(lab, folder);
  console.error(ownProgramInstructions(environment, { folder, secrets: lab.existing?.secrets }));
  await untilStopped(lab.session);
  return 0;
}

/** Keeps everything running until the user presses Ctrl-C. */
async function keepRunning({ session, controlPlane, tools }: Lab): Promise<void> {
  const access = {
    kubeconfig: controlPlane.adminKubeconfig,
    talosconfig: session.dir("talosconfig"),
    talosctl: tools.talosctl,
  };
  console.error(accessInstructions(access));
  await untilStopped(session);
}

async function untilStopped(session: Session): Promise<void> {
  if (!session.signal.aborted) {
    // A pending promise does not keep the process alive.
    const keepAlive = setInterval(() => {}, 1 << 30);
    await new Promise<void>((resolve) =>
      session.signal.addEventListener("abort", () => resolve(), { once: true }),
    );
    clearInterval(keepAlive);
  }
}

main(process.argv.slice(2)).then(
  (status) => {
    process.exitCode = status;
    // gRPC keeps sockets of the engine open for a while, but the work is done.
    setImmediate(() => process.exit());
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(1);
  },
);
