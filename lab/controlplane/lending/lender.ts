import { startRenewableControlPlane } from "..";
import { lendControlPlanes } from "./lent";
import * as path from "node:path";
import { provideTools } from "../../tools";
import { catalogue } from "../../tools/catalogue";
import { locate } from "../../tools/provide";
import { keepTalosctlReady } from "../../tools/ready-talosctl";
import { Session } from "../../session/session";

// Lends control planes to the labs of a test run, and keeps a talosctl ready for all of them: `lender.ts SOCKET`; the talosctl is
// in the folder `talosctl` beside the socket. Says `lends` on standard output once it listens, and ends with its standard input.

// More than a lab's: one that serves lab after lab holds what every one of them has defined.
process.env.GOMEMLIMIT ??= "1GiB";
// Labs side by side keep every core busy: one that wakes up others for what it alone can do takes a fifth more, idle as it mostly is.
process.env.GOMAXPROCS ??= "1";
const session = new Session();

const over = (): void => {
  session.abort("nobody borrows any more");
  void session.close().then(() => process.exit());
};
process.stdin.resume().on("end", over);
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, over);

let binary: Promise<string> | undefined;
let count = 0;

/** Looks that all labs of a test run have at a time; those that hang have none of these for long. */
const looksAtATime = 8;

/** One that is there already: a test run that has no lab must not build one. */
async function readyTalosctl(folder: string): Promise<void> {
  const found = await locate(
    catalogue.find(({ name }) => name === "talosctl")!,
    {},
  );
  if (!("path" in found)) return;
  const kept = await keepTalosctlReady(folder, found.path, looksAtATime, session.signal);
  if (kept !== undefined) session.onClose(() => kept.stop());
}

async function main(socket: string): Promise<void> {
  const start = async () => {
    const { signal } = session;
    const program = await (binary ??= provideTools({ only: ["controlplane"], signal }).then((all) => all.controlplane));
    const dir = session.dir(`control-plane-${++count}`);
    const plane = await startRenewableControlPlane({ dir, binary: program, signal });
    session.onClose(() => plane.stop());
    return plane;
  };
  await readyTalosctl(path.join(path.dirname(socket), "talosctl"));
  await lendControlPlanes(socket, start, (line) => {
    if (!session.signal.aborted) console.error(line); // what is given back at the end is not lent again
  });
  process.stdout.write("lends\n");
}

main(process.argv[2]!).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});
