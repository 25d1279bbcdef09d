import * as net from "node:net";

/** Kinds of failure between a client and its API server. */
export type ApiFault =
  /** Refuses new connections, and cuts the open ones. */
  | "refuse"
  /** Resets the next answer in the middle. */
  | "reset"
  /** Sends no next answer, and keeps the connection open. */
  | "stall";

/** Milliseconds without a listener: longer than the client's first pause, shorter than the time for which it tries. */
const DOWNTIME_MS = 1_500;

/** A proxy to an API server that can fail on purpose. */
export interface ApiProxy {
  port: number;
  /** Causes one failure. Resolves once it has happened and the proxy works again. */
  causeFault(kind: ApiFault): Promise<void>;
  /** Number of failures that clients met, by kind. */
  readonly faultCounts: Readonly<Record<ApiFault, number>>;
  close(): Promise<void>;
}

/**
 * First bytes of a client that speaks HTTP/2, as clients in Go do. They are not encrypted (RFC 7301, ALPN).
 */
const http2Offer = Buffer.from("\x02h2");

/**
 * Forwards connections to a port of this computer, byte for byte, so TLS works. Only clients in Node.js lose an answer,
 * such as the machine program. Pulumi's Kubernetes provider is written in Go, and reads the API's schema once, when it
 * is configured. If that fails, it creates no object in the whole update ("configured Kubernetes cluster is
 * unreachable: unable to load schema information", seen with v4.34). This package cannot repair that; the next update
 * works again.
 */
export async function startApiProxy(target: number): Promise<ApiProxy> {
  const faultCounts: Record<ApiFault, number> = { refuse: 0, reset: 0, stall: 0 };
  const openSockets = new Set<net.Socket>();
  /** Failure to apply to the server's next bytes, and the callback that waits for it. */
  let pendingFault: { kind: "reset" | "stall"; done: () => void } | undefined;
  const spoilAnswer = (client: net.Socket, server: net.Socket, chunk: Buffer): void => {
    const { kind, done } = pendingFault!;
    pendingFault = undefined;
    faultCounts[kind]++;
    if (kind === "reset") {
      client.write(chunk.subarray(0, Math.ceil(chunk.length / 2)), () => client.resetAndDestroy());
      server.destroy();
    } else {
      server.pause(); // the client gives up by itself, and ends the connection
    }
    done();
  };
  const listener = net.createServer((client) => {
    const server = net.connect(target, "127.0.0.1");
    for (const [socket, peer] of [
      [client, server],
      [server, client],
    ] as const) {
      openSockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        openSockets.delete(socket);
        peer.destroy();
      });
    }
    let isNodeClient: boolean | undefined;
    client.on("data", (chunk) => {
      isNodeClient ??= !chunk.includes(http2Offer);
      server.write(chunk);
    });
    server.on("data", (chunk) => {
      if (pendingFault !== undefined && isNodeClient === true) spoilAnswer(client, server, chunk);
      else client.write(chunk);
    });
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) =>
      listener.once("error", reject).listen(port, "127.0.0.1", resolve),
    );
  await listen(0);
  const { port } = listener.address() as net.AddressInfo;
  const refuseForAWhile = async (): Promise<void> => {
    const listenerClosed = new Promise((resolve) => listener.close(resolve));
    faultCounts.refuse++;
    for (const socket of openSockets) socket.destroy();
    await listenerClosed;
    await new Promise((resolve) => setTimeout(resolve, DOWNTIME_MS));
    await listen(port);
  };
  return {
    port,
    faultCounts,
    causeFault: (kind) =>
      kind === "refuse"
        ? refuseForAWhile()
        : new Promise((done) => (pendingFault = { kind, done })),
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        for (const socket of openSockets) socket.destroy();
      }),
  };
}
