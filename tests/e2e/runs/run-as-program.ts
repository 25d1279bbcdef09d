import type { ClusterSpec } from "../../../components/recipe";
import { bringUp } from "../../../lab/cluster/bring-up";
import type { LabOptions } from "../../../lab/options";
import type { RunningLab } from "../../../lab/run/running-lab";
import { Session } from "../../../lab/session/session";

/**
 * Runs a program that a test has started by `runInOwnProcess`. It passes a lab's session and the arguments to the
 * program, and prints the program's outcome as JSON. It closes the session when the program ends. A signal, or the
 * end of the test that reads the outcome, closes the session at once.
 */
export function runAsProgram<Outcome>(
  run: (session: Session, ...args: string[]) => Promise<Outcome>,
): void {
  const session = new Session();
  const stop = (reason: string): void => {
    session.abort(reason);
    void session.close().then(() => process.exit(1));
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.once(signal, () => stop(`stopped by ${signal}`));
  // Pulumi's SDK prints every uncaught error, so an error of that print would repeat endlessly.
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", () => stop("its output has no reader"));
  const main = async (): Promise<void> => {
    try {
      process.stdout.write(JSON.stringify(await run(session, ...process.argv.slice(2))));
    } finally {
      await session.close();
    }
  };
  main().then(
    () => setImmediate(() => process.exit()), // gRPC keeps sockets of the engine open for some time
    (error: unknown) =>
      // lab/bundle/run.js prints uncaught errors with positions in the sources; printed here they would be the
      // bundle's.
      setImmediate(() => {
        throw error;
      }),
  );
}

/**
 * Starts a Talos cluster in its state before a stack's first update. A program that runs the stack adds
 * `initialSnapshot` and `engine`.
 *
 * @param config Configuration of the stack, by key. Default: the spec's fields.
 */
export async function openLab(
  session: Session,
  options: LabOptions,
  spec: ClusterSpec,
  config: Record<string, unknown> = { ...spec },
): Promise<RunningLab> {
  const report = { ok: true, failures: [] };
  const lab = {
    options,
    session,
    config,
    spec,
    talosReleases: [spec.talosVersion],
    without: [],
    earlierPlans: [],
    failed: false,
    diagnostics: [],
    report,
  } as unknown as RunningLab; // the phases add the rest
  for (const phase of bringUp) await phase.run(lab, (line) => console.error(line));
  return lab;
}
