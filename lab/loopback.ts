import type { Server } from "node:http";
import * as net from "node:net";

/** A server on 127.0.0.1. */
export interface Listening {
  port: number;
  url: string;
  /** Ends the server and its open connections. */
  close(): Promise<void>;
}

/** Starts a server at a free port. */
export async function listen(server: Server): Promise<Listening> {
  await new Promise<void>((resolve, reject) =>
    server.once("error", reject).listen(0, "127.0.0.1", resolve),
  );
  const { port } = server.address() as net.AddressInfo;
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Whether a port accepts connections. */
export const answers = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1", () => resolve(socket.destroy() && true));
    socket.once("error", () => resolve(false));
  });

/** Ports that this process has already given out; their owners may not listen yet. */
const reservedPorts = new Set<number>();

/** A free port, below the range for outgoing connections (Linux: from 32768 on). Never the same twice. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (reservedPorts.has(port) || (await answers(port))) continue;
    reservedPorts.add(port);
    return port;
  }
}
