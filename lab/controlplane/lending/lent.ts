import * as fs from "node:fs";
import * as net from "node:net";
import * as path from "node:path";
import * as readline from "node:readline";
import type { Ended } from "../../session/process";
import { type ControlPlane, type RenewableControlPlane, startControlPlane } from "..";
import { until } from "../../until";

/**
 * Environment variable: the socket where control planes are lent. Starting one takes four to five seconds of a
 * core, a quarter of what a small lab takes in all.
 */
export const lenderVariable = "TALOS_GPU_CONTROL_PLANES";

/** What a borrower asks with: the folder that is gone when nothing of its lab runs any more. */
interface Asked {
  folder: string;
}

/** What it may ask for while it has one: a line, which is answered with `Done`. */
const restart = "restart";

/** How that went. */
type Done = { error?: string };

/** What it gets. */
type Lent = Pick<ControlPlane, "server" | "adminKubeconfig" | "caCert" | "caKey" | "nodes" | "pid"> | { error: string };

/** Seconds from the return until nothing of the lab runs any more: what its janitor gives it, and then some. */
const goneSeconds = 60;

/**
 * Lends control planes at a socket, each to one lab at a time. A connection is a loan: its end gives the control plane back,
 * however the lab has ended.
 *
 * @param start starts a further one; called when all are lent.
 * @param say told of what did not go well.
 */
export function lendControlPlanes(
  socket: string,
  start: () => Promise<RenewableControlPlane>,
  say: (line: string) => void,
): Promise<net.Server> {
  const free = new Set<RenewableControlPlane>();
  /** Being renewed: whoever waits for one of these has it sooner than a new one. */
  const coming = new Set<Promise<void>>();

  const startFurther = async (): Promise<RenewableControlPlane> => {
    const plane = await start();
    void plane.ended.then(() => free.delete(plane)); // it may end while nobody has it
    return plane;
  };
  const take = async (): Promise<RenewableControlPlane> => {
    for (;;) {
      const [unused] = free;
      if (unused !== undefined) {
        free.delete(unused);
        const woken = await unused.rest(false).then(
          () => true,
          () => false, // it has just ended
        );
        if (woken) return unused;
        continue;
      }
      const [next] = coming;
      if (next === undefined) return startFurther();
      coming.delete(next);
      await next;
    }
  };
  const back = async (plane: RenewableControlPlane, folder: string): Promise<void> => {
    try {
      const { holds } = await until(
        { seconds: goneSeconds, every: 50 },
        () => fs.existsSync(folder),
        (there) => !there,
      );
      if (!holds) throw new Error(`something of the lab in ${folder} runs ${goneSeconds} s after its end`);
      const renew = async (): Promise<void> => {
        await plane.renew();
        await plane.rest(true);
        free.add(plane);
      };
      const renewed = renew();
      const settled = renewed.catch(() => {});
      coming.add(settled);
      await renewed.finally(() => coming.delete(settled));
    } catch (error) {
      say(`a control plane is not lent again: ${(error as Error).message}`);
      await plane.stop();
    }
  };
  const lend = async (connection: net.Socket): Promise<void> => {
    const closed = new Promise<void>((resolve) => connection.once("close", () => resolve()));
    const lines = linesOf(connection);
    const { folder } = JSON.parse(await nextLine(connection, lines)) as Asked;
    let plane: RenewableControlPlane;
    try {
      plane = await take();
    } catch (error) {
      connection.end(`${JSON.stringify({ error: (error as Error).message } satisfies Lent)}\n`);
      return;
    }
    const { server, adminKubeconfig, caCert, caKey, nodes, pid } = plane;
    connection.write(`${JSON.stringify({ server, adminKubeconfig, caCert, caKey, nodes, pid } satisfies Lent)}\n`);
    lines.on("line", (line) => {
      if (line !== restart) return;
      const done = (answer: Done): void =>
        void (connection.destroyed || connection.write(`${JSON.stringify(answer)}\n`));
      plane.restartControllers().then(
        () => done({}),
        (error: Error) => done({ error: error.message }),
      );
    });
    const ended = await Promise.race([closed, plane.ended.then(() => "by itself" as const)]);
    if (ended === "by itself") connection.destroy();
    else await back(plane, folder);
  };
  const lender = net.createServer((connection) => void lend(connection).catch((error: Error) => say(error.message)));
  return new Promise((resolve, reject) => {
    lender.once("error", reject);
    lender.listen(socket, () => resolve(lender));
  });
}

/**
 * A control plane for a lab: a lent one where control planes are lent, else one of its own.
 *
 * @param folder the lab's: gone when nothing of it runs any more.
 */
export function provideControlPlane(folder: string, binary: string, signal?: AbortSignal): Promise<ControlPlane> {
  const lender = process.env[lenderVariable];
  return lender === undefined
    ? startControlPlane({ dir: path.join(folder, "controlplane"), binary, ...(signal === undefined ? {} : { signal }) })
    : borrowControlPlane(lender, folder, signal);
}

/**
 * Borrows a control plane for a lab.
 *
 * @param folder the lab's: gone when nothing of it runs any more.
 */
export async function borrowControlPlane(socket: string, folder: string, signal?: AbortSignal): Promise<ControlPlane> {
  const connection = net.connect(socket);
  let wanted = false;
  const ended = new Promise<Ended>((resolve) =>
    connection.once("close", () => resolve({ code: null, signal: null, wanted, tail: "" })),
  );
  const stop = async (): Promise<void> => {
    wanted = true;
    connection.destroy();
    await ended;
  };
  const abort = (): void => void stop();
  signal?.addEventListener("abort", abort, { once: true });
  void ended.then(() => signal?.removeEventListener("abort", abort));
  try {
    signal?.throwIfAborted();
    connection.write(`${JSON.stringify({ folder } satisfies Asked)}\n`);
    const lines = linesOf(connection);
    const lent = JSON.parse(await nextLine(connection, lines)) as Lent;
    if ("error" in lent) throw new Error(lent.error);
    // Where one that is started by the lab itself has it.
    const own = path.join(folder, "controlplane", path.basename(lent.adminKubeconfig));
    fs.mkdirSync(path.dirname(own), { recursive: true, mode: 0o700 });
    fs.copyFileSync(lent.adminKubeconfig, own);
    connection.unref(); // a loan alone does not keep a lab alive
    const restartControllers = async (): Promise<void> => {
      connection.write(`${restart}\n`);
      const { error } = JSON.parse(await nextLine(connection, lines)) as Done;
      if (error !== undefined) throw new Error(error);
    };
    return { ...lent, adminKubeconfig: own, ended, lent: true, restartControllers, stop };
  } catch (error) {
    await stop();
    signal?.throwIfAborted();
    throw error;
  }
}

const linesOf = (connection: net.Socket): readline.Interface => {
  const lines = readline.createInterface({ input: connection });
  for (const one of [connection, lines]) one.on("error", () => {}); // the close that follows says so
  connection.once("close", () => lines.close()); // which it does not by itself where its input is destroyed
  return lines;
};

function nextLine(connection: net.Socket, lines: readline.Interface): Promise<string> {
  return new Promise((resolve, reject) => {
    const gone = (): void =>
      reject(connection.errored ?? new Error("the other side of a control plane's loan has gone"));
    lines.once("close", gone);
    lines.once("line", (line) => {
      lines.off("close", gone);
      resolve(line);
    });
  });
}
