import type { ClusterSpec } from "../../../components/recipe";
import { bringUp } from "../../../lab/cluster/bring-up";
import type { LabOptions } from "../../../lab/options";
import type { Running } from "../../../lab/run/running";
import { Session } from "../../../lab/session/session";

/**
 * Runs a program that a test has started by `runApart`: gives it a lab's session and its arguments, prints its outcome as JSON,
 * and closes the session however it ends. A signal closes the session at once, under whatever is going on; so does the end of
 * the test that reads it.
 */
export function asProgram<Outcome>(
  run: (session: Session, ...args: string[]) => Promise<Outcome>,
): void {
  const session = new Session();
  const stop = (why: string): void => {
    session.abort(why);
    void session.close().then(() => process.exit(1));
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const)
    process.once(signal, () => stop(`stopped by ${signal}`));
  // Pulumi's SDK writes of every uncaught error, and so of its own writing, without end.
  for (const stream of [process.stdout, process.stderr])
    stream.on("error", () => stop("its output has no reader"));
  const ended = async (): Promise<void> => {
    try {
      process.stdout.write(JSON.stringify(await run(session, ...process.argv.slice(2))));
    } finally {
      await session.close();
    }
  };
  ended().then(
    () => setImmediate(() => process.exit()), // gRPC keeps sockets of the engine open for a while
    (error: unknown) =>
      // Uncaught, it shows positions in the sources (lab/bundle/run.js); printed here they would be the bundle's.
      setImmediate(() => {
        throw error;
      }),
  );
}

/**
 * Brings a Talos cluster up as it is before a stack comes; a program that runs the stack adds `before` and `engine`.
 *
 * @param config Configuration of the stack, by key. Default: what the spec says.
 */
export async function openLab(
  session: Session,
  options: LabOptions,
  spec: ClusterSpec,
  config: Record<string, unknown> = { ...spec },
): Promise<Running> {
  const report = { ok: true, failures: [] };
  const given = { options, session, config, spec, talosReleases: [spec.talosVersion], without: [] };
  const lab = {
    ...given,
    earlier: [],
    failed: false,
    diagnostics: [],
    report,
  } as unknown as Running; // the phases add the rest
  for (const phase of bringUp) await phase.run(lab, (line) => console.error(line));
  return lab;
}
