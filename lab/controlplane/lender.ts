import { startRenewableControlPlane } from ".";
import { lendControlPlanes } from "./lent";
import { provideTools } from "../tools";
import { Session } from "../session/session";

// Lends control planes to the labs of a test run: `lender.ts SOCKET`. Says `lends` on standard output once it listens, and ends with
// its standard input.

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

async function main(socket: string): Promise<void> {
  const start = async () => {
    const { signal } = session;
    const program = await (binary ??= provideTools({ only: ["controlplane"], signal }).then((all) => all.controlplane));
    const dir = session.dir(`control-plane-${++count}`);
    const plane = await startRenewableControlPlane({ dir, binary: program, signal });
    session.onClose(() => plane.stop());
    return plane;
  };
  await lendControlPlanes(socket, start, (line) => {
    if (!session.signal.aborted) console.error(line); // what is given back at the end is not lent again
  });
  process.stdout.write("lends\n");
}

main(process.argv[2]!).catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : String(error));
  process.exit(1);
});
