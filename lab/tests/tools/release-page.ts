import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as http from "node:http";
import * as path from "node:path";
import { listen, type Listening } from "../../loopback";

/** Answers a request in a way other than the usual one. */
export type Answering = (answer: http.ServerResponse, content: Buffer | undefined) => void;

/** A server of copied release pages on loopback. TALOS_GPU_LAB_RELEASES may have its URL. */
export class ReleasePage {
  private readonly files = new Map<string, Buffer>();
  private readonly instead = new Map<string, Answering>();
  /** Requested paths, in order. */
  readonly asked: string[] = [];
  private listening: Listening | undefined;

  async open(): Promise<this> {
    const server = http.createServer(({ url = "" }, answer) => {
      const file = url.slice(1);
      this.asked.push(file);
      const content = this.files.get(file);
      const answers = [...this.instead].find(([part]) => file.endsWith(part))?.[1] ?? usually;
      answers(answer, content);
    });
    this.listening = await listen(server);
    return this;
  }

  /** Host and port, as messages name them. */
  get host(): string {
    return `127.0.0.1:${this.listening!.port}`;
  }

  get url(): string {
    return this.listening!.url;
  }

  async close(): Promise<void> {
    await this.listening?.close();
  }

  /** Publishes a file at an address. */
  put(address: string, content: string | Buffer): void {
    this.files.set(address.replace("https://", ""), Buffer.from(content));
  }

  /** Uses another answer for paths that end with `part`. */
  answer(part: string, answering: Answering): void {
    this.instead.set(part, answering);
  }
}

const usually: Answering = (answer, content) =>
  void answer.writeHead(content === undefined ? 404 : 200).end(content);

/** Answers with a status. */
export const refuses =
  (status: number): Answering =>
  (answer) =>
    void answer.writeHead(status).end("no");

/** Sends half of a file, and then calls a function. */
export const half =
  (then: (answer: http.ServerResponse) => void): Answering =>
  (answer, content) => {
    answer.writeHead(200, { "content-length": content!.length });
    answer.write(content!.subarray(0, content!.length / 2), () => then(answer));
  };

export const sha256 = (content: string | Buffer): string =>
  createHash("sha256").update(content).digest("hex");

/** An archive like those of the projects, from files by their path in it. */
export function archive(work: string, files: Record<string, string | Buffer>): Buffer {
  const folder = fs.mkdtempSync(path.join(work, "archive-"));
  for (const [name, content] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), content, { mode: 0o755 });
  }
  return execFileSync("tar", ["-czf", "-", "-C", folder, ...fs.readdirSync(folder)], {
    maxBuffer: 1 << 30,
  });
}
