import { execFileSync, spawn } from "node:child_process";
import * as fs from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import { connect } from "node:net";
import * as path from "node:path";
import type { Duplex } from "node:stream";
import { listen } from "../../../lab/loopback";

/** A Git server on this computer that programs reach under a public host name. */
export interface GitServer {
  /** Environment with which Go programs and npm reach the server, and trust its certificate. */
  readonly environment: Readonly<Record<string, string>>;
  /** Paths of the requests so far. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

/**
 * Serves the bare repositories of a folder over HTTPS, by Git's own `git http-backend`.
 *
 * Pulumi clones from port 443 of a host only. So a proxy sends connections to `host` to the server, and all other
 * connections to their own addresses.
 */
export async function serveGit(repositories: string, host: string): Promise<GitServer> {
  const requests: string[] = [];
  const certificate = createCertificate(repositories, host);
  const server = https.createServer(certificate, (request, response) => {
    requests.push(request.url ?? "");
    answer(repositories, request, response);
  });
  const listeningServer = await listen(server);
  const proxy = http.createServer((_, response) => response.writeHead(405).end());
  // An HTTP server does not close connections that it has handed over, but waits until they end.
  const tunnels = new Set<Duplex>();
  proxy.on("connect", ({ url = "" }, client, head) => {
    const target = new URL(`https://${url}`);
    const [address, port] =
      target.hostname === host
        ? ["127.0.0.1", listeningServer.port]
        : [target.hostname, target.port || 443];
    const upstream = connect(Number(port), address, () => {
      client.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.write(head);
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on("error", () => client.destroy());
    client.on("error", () => upstream.destroy());
    for (const socket of [client, upstream]) tunnels.add(socket);
  });
  const listeningProxy = await listen(proxy);
  return {
    requests,
    environment: {
      HTTPS_PROXY: listeningProxy.url,
      https_proxy: listeningProxy.url,
      SSL_CERT_FILE: addToTrusted(repositories, certificate.cert),
    },
    close: async () => {
      for (const socket of tunnels) socket.destroy();
      await Promise.all([listeningServer.close(), listeningProxy.close()]);
    },
  };
}

/** Makes a certificate that its own key signs. */
function createCertificate(folder: string, host: string): { key: string; cert: string } {
  const [key, cert] = [path.join(folder, "key.pem"), path.join(folder, "certificate.pem")];
  const subject = ["-subj", `/CN=${host}`, "-addext", `subjectAltName=DNS:${host}`];
  const files = ["-keyout", key, "-out", cert];
  execFileSync(
    "openssl",
    ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject, ...files],
    { stdio: "pipe" },
  );
  return { key: fs.readFileSync(key, "utf8"), cert: fs.readFileSync(cert, "utf8") };
}

/** Writes a file with this computer's trusted certificates and one more. Go reads no other file if SSL_CERT_FILE is set. */
function addToTrusted(folder: string, certificate: string): string {
  const usual = process.env["SSL_CERT_FILE"] ?? "/etc/ssl/certs/ca-certificates.crt";
  const file = path.join(folder, "trusted.pem");
  const trusted = fs.existsSync(usual) ? fs.readFileSync(usual, "utf8") : "";
  fs.writeFileSync(file, `${trusted}\n${certificate}`);
  return file;
}

/** Answers a request by `git http-backend`, a CGI program (git-http-backend(1)). */
function answer(
  repositories: string,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): void {
  const { pathname, search } = new URL(request.url ?? "/", "https://git");
  const backend = spawn("git", ["http-backend"], {
    env: {
      PATH: process.env["PATH"],
      GIT_PROJECT_ROOT: repositories,
      GIT_HTTP_EXPORT_ALL: "1",
      GIT_PROTOCOL: request.headers["git-protocol"]?.toString(),
      REQUEST_METHOD: request.method,
      PATH_INFO: pathname,
      QUERY_STRING: search.slice(1),
      CONTENT_TYPE: request.headers["content-type"],
      HTTP_CONTENT_ENCODING: request.headers["content-encoding"],
    },
    stdio: ["pipe", "pipe", "inherit"],
  });
  request.pipe(backend.stdin);
  const chunks: Buffer[] = [];
  backend.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  backend.once("close", () => {
    const output = Buffer.concat(chunks);
    const end = output.indexOf("\r\n\r\n");
    const headers = output.subarray(0, end).toString().split("\r\n");
    for (const header of headers) {
      const [name = "", value = ""] = header.split(/: (.*)/s);
      if (name === "Status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(output.subarray(end + 4));
  });
}
