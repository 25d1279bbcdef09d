import { createServer, type RequestListener, Server } from "node:http";
import * as net from "node:net";
import { TLSSocket } from "node:tls";
import { listen, type Listening } from "../loopback";
import type { CertificateAuthority } from "./certificates";

/**
 * An HTTP proxy that answers in the name of some servers, also for HTTPS, and connects its clients with all others.
 *
 * @param standsIn whether it answers for a host, `HOST:PORT`
 * @param answer answers a request for such a host; the request's `host` header names the host
 */
export async function startProxy({
  authority,
  standsIn,
  answer,
}: {
  authority: CertificateAuthority;
  standsIn: (host: string) => boolean;
  answer: RequestListener;
}): Promise<Listening> {
  const sockets = new Set<net.Socket>();
  const keep = (socket: net.Socket): net.Socket => {
    sockets.add(socket);
    return socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
  };
  const inner = new Server(answer);
  const server = createServer(answer).on("connect", (request, client: net.Socket) => {
    keep(client);
    const host = request.url ?? "";
    const [, hostname, port] = /^\[?([^[\]]+)\]?:(\d+)$/.exec(host) ?? [];
    if (hostname === undefined) return void client.end("HTTP/1.1 400 Bad Request\r\n\r\n");
    const accept = (): void => void client.write("HTTP/1.1 200 Connection established\r\n\r\n");
    if (!standsIn(host)) {
      const target = keep(net.connect(Number(port), hostname));
      target.once("connect", () => {
        accept();
        client.pipe(target).pipe(client);
      });
      client.once("close", () => target.destroy());
      target.once("close", () => client.destroy());
      return;
    }
    authority.contextFor(hostname).then(
      (secureContext) => {
        accept();
        inner.emit("connection", keep(new TLSSocket(client, { isServer: true, secureContext })));
      },
      (error: Error) => client.end(`HTTP/1.1 500 ${error.message.split("\n")[0]}\r\n\r\n`),
    );
  });
  const listening = await listen(server);
  return {
    ...listening,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await listening.close();
    },
  };
}
