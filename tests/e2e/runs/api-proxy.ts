import * as net from "node:net";

/** What goes wrong between a client and its API server. */
export type ApiFault =
  /** Nothing listens, and connected clients are cut off. */
  | "refuse"
  /** The next answer is reset in the middle. */
  | "reset"
  /** The next answer does not come, and the connection stays open. */
  | "stall";

/** Milliseconds for which nothing listens: longer than the client's first pause, shorter than its patience. */
const AWAY = 1_500;

/** A way to an API server on which something can go wrong. */
export interface ApiProxy {
  port: number;
  /** Has the next thing go wrong. Resolves once it did, and the way is open again. */
  fault(kind: ApiFault): Promise<void>;
  /** How often each thing went wrong for a client. */
  readonly felt: Readonly<Record<ApiFault, number>>;
  close(): Promise<void>;
}

/**
 * A client that speaks HTTP/2, as Go's do, says so in the first bytes that it sends, which are not encrypted (RFC
 * 7301, ALPN).
 */
const http2 = Buffer.from("\x02h2");

/**
 * Forwards connections to a port of this computer, byte for byte: TLS goes through. An answer is lost for clients of
 * Node alone, such as the machine program. Pulumi's Kubernetes provider, a program in Go, reads the API's schema
 * once, as it is configured. If that failed, it makes no object in the whole update ("configured Kubernetes cluster
 * is unreachable: unable to load schema information", seen with v4.34): this package cannot repair that, but the next
 * update goes on.
 */
export async function startApiProxy(target: number): Promise<ApiProxy> {
  const felt: Record<ApiFault, number> = { refuse: 0, reset: 0, stall: 0 };
  const open = new Set<net.Socket>();
  /** What befalls the next bytes of the server, and who waits for that. */
  let armed: { kind: "reset" | "stall"; done: () => void } | undefined;
  const strike = (client: net.Socket, server: net.Socket, chunk: Buffer): void => {
    const { kind, done } = armed!;
    armed = undefined;
    felt[kind]++;
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
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      open.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        open.delete(socket);
        other.destroy();
      });
    }
    let ofNode: boolean | undefined;
    client.on("data", (chunk) => {
      ofNode ??= !chunk.includes(http2);
      server.write(chunk);
    });
    server.on("data", (chunk) => {
      if (armed !== undefined && ofNode === true) strike(client, server, chunk);
      else client.write(chunk);
    });
  });
  const listen = (port: number): Promise<void> =>
    new Promise((resolve, reject) =>
      listener.once("error", reject).listen(port, "127.0.0.1", resolve),
    );
  await listen(0);
  const { port } = listener.address() as net.AddressInfo;
  const away = async (): Promise<void> => {
    const closed = new Promise((resolve) => listener.close(resolve));
    felt.refuse++;
    for (const socket of open) socket.destroy();
    await closed;
    await new Promise((resolve) => setTimeout(resolve, AWAY));
    await listen(port);
  };
  return {
    port,
    felt,
    fault: (kind) => (kind === "refuse" ? away() : new Promise((done) => (armed = { kind, done }))),
    close: () =>
      new Promise((resolve) => {
        listener.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
