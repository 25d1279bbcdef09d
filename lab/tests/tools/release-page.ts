import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as http from "node:http";
import * as path from "node:path";
import { listen, type Listening } from "../../loopback";

/** Answers a request. The content is that of the requested file, if the page has it. */
export type Responder = (response: http.ServerResponse, content: Buffer | undefined) => void;

/** A server of copied release pages on loopback. TALOS_GPU_LAB_RELEASES may have its URL. */
export class ReleasePage {
  private readonly files = new Map<string, Buffer>();
  private readonly specialResponders = new Map<string, Responder>();
  /** Paths of all requests so far, in order. */
  readonly requestedPaths: string[] = [];
  private server: Listening | undefined;

  async open(): Promise<this> {
    const httpServer = http.createServer(({ url = "" }, response) => {
      const requestedPath = url.slice(1);
      this.requestedPaths.push(requestedPath);
      const content = this.files.get(requestedPath);
      const respond =
        [...this.specialResponders].find(([suffix]) => requestedPath.endsWith(suffix))?.[1] ??
        serveFile;
      respond(response, content);
    });
    this.server = await listen(httpServer);
    return this;
  }

  /** Host and port, as messages name them. */
  get host(): string {
    return `127.0.0.1:${this.server!.port}`;
  }

  get url(): string {
    return this.server!.url;
  }

  async close(): Promise<void> {
    await this.server?.close();
  }

  /** Publishes a file at an address. */
  put(address: string, content: string | Buffer): void {
    this.files.set(address.replace("https://", ""), Buffer.from(content));
  }

  /** Answers requests for paths that end with `suffix` with this responder instead of the file. */
  respondTo(suffix: string, responder: Responder): void {
    this.specialResponders.set(suffix, responder);
  }
}

const serveFile: Responder = (response, content) =>
  void response.writeHead(content === undefined ? 404 : 200).end(content);

/** Answers with this status instead of the file. */
export const respondWithStatus =
  (status: number): Responder =>
  (response) =>
    void response.writeHead(status).end("no");

/** Sends half of the file, and then calls a function. */
export const sendHalf =
  (onSent: (response: http.ServerResponse) => void): Responder =>
  (response, content) => {
    response.writeHead(200, { "content-length": content!.length });
    response.write(content!.subarray(0, content!.length / 2), () => onSent(response));
  };

export const sha256 = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");

/** An archive like those of the projects, from files by their path in it. */
export function createArchive(workFolder: string, files: Record<string, string | Buffer>): Buffer {
  const folder = fs.mkdtempSync(path.join(workFolder, "archive-"));
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), content, { mode: 0o755 });
  }
  return execFileSync("tar", ["-czf", "-", "-C", folder, ...fs.readdirSync(folder)], {
    maxBuffer: 1 << 30,
  });
}
