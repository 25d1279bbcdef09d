import type { ChildProcess } from "node:child_process";
import * as fs from "node:fs";
import * as readline from "node:readline";
import type { ClusterOutcome, LabReport } from "../../../lab/run/report";
import { startInOwnProcess } from "./own-process";
import { furtherOptions } from "./further-options";
import { descendants, readOrEmpty } from "../../support/processes";
import { networkLinks, mountsAndControlGroups } from "./real-node";
import { untilSeen } from "../../../lab/until";

/** A lab in a process of its own, as a user runs it. */
export interface LabRun {
  child: ChildProcess;
  /** Lines of standard error so far. */
  lines: string[];
  /** Folder of the lab, as the lab's janitor knows it. */
  folder(): Promise<string>;
  /** Resolves with the first line that matches; rejects if the lab ends without one. */
  line(pattern: RegExp): Promise<string>;
  /** Exit status (or the signal's name) and standard output, once it has ended. */
  ended: Promise<{ status: number | string; stdout: string }>;
}

/** Starts `npm run lab -- ...args` without npm in between, so that signals reach it. */
export function startLab(args: string[], env: NodeJS.ProcessEnv = {}): LabRun {
  const child = startInOwnProcess("lab/main.ts", ["--verbose", ...args, ...furtherOptions], env);
  const lines: string[] = [];
  const waitingForLine: {
    pattern: RegExp;
    resolve: (line: string) => void;
    reject: (error: Error) => void;
  }[] = [];
  readline.createInterface({ input: child.stderr! }).on("line", (line) => {
    lines.push(line);
    for (const waiter of waitingForLine.filter(({ pattern }) => pattern.test(line)))
      waiter.resolve(line);
  });
  const stdout: Buffer[] = [];
  child.stdout!.on("data", (chunk: Buffer) => stdout.push(chunk));
  const ended = new Promise<{ status: number | string; stdout: string }>((resolve) =>
    child.on("close", (code, signal) => {
      for (const { pattern, reject } of waitingForLine)
        reject(new Error(`no line ${pattern}; the last:\n${lines.slice(-20).join("\n")}`));
      resolve({
        status: code ?? signal ?? "unknown",
        stdout: Buffer.concat(stdout).toString("utf8"),
      });
    }),
  );
  const line = (pattern: RegExp): Promise<string> => {
    const earlierLine = lines.find((candidate) => pattern.test(candidate));
    return earlierLine === undefined
      ? new Promise((resolve, reject) => waitingForLine.push({ pattern, resolve, reject }))
      : Promise.resolve(earlierLine);
  };
  const folder = async (): Promise<string> => {
    await line(/Kubernetes control plane:/);
    const janitor = descendants(child.pid!).find(({ command }) => command.includes("janitor.js"));
    return janitor!.command.split("\0")[2]!;
  };
  return { child, lines, folder, line, ended };
}

/** Runs the lab until it ends, and returns its report and its folder. */
export async function runLab<Report = LabReport>(
  args: string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ status: number | string; report: Report; lines: string[]; folder: string }> {
  const run = startLab([...args, "--json"], env);
  const labFolder = run.folder().catch(() => ""); // if it ends before it has a control plane, its lines have the reason
  const [{ status, stdout }, folder] = await Promise.all([run.ended, labFolder]);
  try {
    return { status, report: JSON.parse(stdout) as Report, lines: run.lines, folder };
  } catch (error) {
    throw new Error(
      `no JSON on standard output; the last lines:\n${run.lines.slice(-40).join("\n")}`,
      {
        cause: error,
      },
    );
  }
}

/** Fails unless the lab succeeded. The error begins with the fault, since a long text is cut off. */
export function assertOk({
  status,
  report,
  lines,
}: {
  status: number | string;
  report: LabReport;
  lines: string[];
}): void {
  if (status === 0 && report.ok) return;
  throw new Error(describeResult(status, report, lines));
}

/** Fails with the messages of an update that did not succeed. */
export function expectSucceeded({
  result,
  diagnostics,
}: {
  result: string;
  diagnostics: readonly string[];
}): void {
  if (result !== "succeeded") throw new Error([result, ...diagnostics].join("\n"));
}

/** Fails unless lines match the patterns in this order; other lines may lie between them. */
export function expectLinesInOrder(lines: string[], patterns: string[]): void {
  let remaining = lines;
  for (const pattern of patterns) {
    const index = remaining.findIndex((line) => new RegExp(pattern).test(line));
    if (index < 0) throw new Error(`no further line matches ${pattern}`);
    remaining = remaining.slice(index + 1);
  }
}

/** Expects exactly these workloads, as `namespace/name`, and each of them ready. */
export function expectReady({ workloads }: ClusterOutcome, names: string[]): void {
  expect(workloads.map(({ namespace, name }) => `${namespace}/${name}`).sort()).toEqual(names);
  expect(workloads.filter(({ ready }) => !ready)).toEqual([]);
}

/** The text for a lab's result, with the most important lines first. */
export function describeResult(
  status: number | string,
  report: LabReport,
  lines: string[],
): string {
  const errorLines = lines.filter((line) => /^ *✖|not as planned|^ *error/.test(line));
  return [
    `exit status ${status}`,
    ...errorLines,
    JSON.stringify(report),
    ...lines.slice(-200).reverse(),
  ].join("\n");
}

/** Processes of a lab that still run. */
export function labProcesses(folder: string): string[] {
  const labVariable = `TALOS_GPU_LAB=${folder}`;
  return fs
    .readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => readOrEmpty(`/proc/${pid}/environ`).split("\0").includes(labVariable))
    .map((pid) => readOrEmpty(`/proc/${pid}/cmdline`).replace(/\0/g, " "));
}

/**
 * Resolves once a lab has left no folder, process, mount, link and control group. Rejects after the limit, with a
 * list of those that are left. Links have the same time again: the kernel removes a network when nothing else
 * waits, and took over 30 s for it on a busy computer.
 */
export async function waitUntilNothingIsLeft(folder: string, limitSeconds = 300): Promise<void> {
  const leftovers = (): string[] => [
    ...(fs.existsSync(folder) ? [folder] : []),
    ...labProcesses(folder),
    ...mountsAndControlGroups(folder),
  ];
  const limits = { seconds: limitSeconds, every: 100 };
  await untilSeen("nothing is left", limits, leftovers, (remaining) => remaining.length === 0);
  await untilSeen(
    "no link is left",
    limits,
    () => networkLinks(folder),
    (remaining) => remaining.length === 0,
  );
}
