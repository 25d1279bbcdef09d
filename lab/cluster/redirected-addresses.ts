import { execFile } from "node:child_process";
import * as net from "node:net";
import { pipeline } from "node:stream";
import { promisify } from "node:util";

const run = promisify(execFile);

const talosPort = 50_000;

/**
 * Redirects the machines' own addresses to the emulated machines, for a provider that connects only to these addresses,
 * as the installed Talos provider does (terraform-provider-talos v0.11.0, pkg/talos/util.go). The addresses become this
 * computer's (`ip address add … dev lo`) until `close`, which needs administrator's rights.
 *
 * @param targets by a machine's address, the `host:port` where it may answer; the first that accepts the connection
 * gets it
 * @returns a function that ends the redirection
 * @throws Error that says what is missing, when an address cannot be taken.
 */
export async function redirectAddresses(
  targets: Readonly<Record<string, readonly string[]>>,
): Promise<() => Promise<void>> {
  const addedAddresses: string[] = [];
  const servers: net.Server[] = [];
  const close = async (): Promise<void> => {
    for (const server of servers) server.close();
    for (const address of addedAddresses)
      await run("ip", ["address", "del", address, "dev", "lo"]).catch(() => undefined);
  };
  try {
    for (const [address, destinations] of Object.entries(targets)) {
      if (!address.startsWith("127.")) {
        await run("ip", ["address", "add", `${address}/32`, "dev", "lo"]);
        addedAddresses.push(`${address}/32`);
      }
      servers.push(await forward(address, talosPort, destinations));
    }
  } catch (error) {
    await close();
    throw new Error(
      `--pulumi: the machines' addresses cannot be redirected to the lab, and the installed Talos provider connects only to these addresses; run as root with iproute2, or use a stack without owned machines: ${(error as Error).message}`,
      { cause: error },
    );
  }
  return close;
}

/** Forwards connections at a port of this computer to the first of some addresses that accepts them. */
export function forward(
  address: string,
  port: number,
  destinations: readonly string[],
): Promise<net.Server> {
  const server = net.createServer((client) => {
    void connectToFirst(destinations).then((machine) => {
      if (machine === undefined) client.destroy();
      else pipeline(client, machine, client, () => {});
    });
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, address, () => resolve(server));
  });
}

async function connectToFirst(destinations: readonly string[]): Promise<net.Socket | undefined> {
  for (const destination of destinations) {
    const [host = "", port = ""] = destination.split(/:(?=\d+$)/);
    const socket = net.connect(Number(port), host);
    const connected = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      socket.once("error", () => resolve(false));
    });
    if (connected) return socket;
  }
  return undefined;
}
