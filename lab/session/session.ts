import { spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

/** A lab's folder, and the promise that nothing outlives the lab. */
export interface Workspace {
  /** Absolute path; everything that a lab writes is below it. */
  dir: string;
  /** Removes the folder, after whatever still runs in its name. May be called again. */
  remove(): Promise<void>;
}

/**
 * Makes a folder for one lab and starts its janitor: a small process that waits for any end of this one. Then it
 * stops what was started in the folder's name and removes the folder. So a killed lab leaves as little behind as an
 * ended one.
 */
export function openWorkspace(): Workspace {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-lab-"));
  // Short-lived files of ours and of what we start (credentials, the engine's event log) go with the folder, too.
  process.env.TMPDIR = path.join(dir, "tmp");
  fs.mkdirSync(process.env.TMPDIR);
  // So does what Helm notes of a cluster, which it would keep in its user's home.
  process.env.KUBECACHEDIR = path.join(dir, "kube-cache");
  // The mark by which the janitor knows what it may stop; whatever is started from here on inherits it.
  process.env.TALOS_GPU_LAB = dir;
  // Most programs of a lab are Go's and live for seconds: collecting their garbage takes more time than their memory is
  // worth. It is collected again where one comes near the limit (https://go.dev/doc/gc-guide#Memory_limit).
  process.env.GOGC ??= "400";
  process.env.GOMEMLIMIT ??= "256MiB";
  const janitor = spawn(process.execPath, [path.join(__dirname, "janitor.js"), dir], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true, // Ctrl-C in a terminal reaches the whole group; the janitor is needed after it
  });
  janitor.stdin.on("error", () => {});
  const gone = new Promise<void>((resolve) => janitor.on("close", () => resolve()));
  return {
    dir,
    remove: async () => {
      janitor.stdin.end();
      await gone;
    },
  };
}

type Closer = () => Promise<void> | void;

/**
 * Open resources of a lab. It closes all of them in reverse order, even if one of them fails; a signal closes them as
 * well.
 */
export class Session {
  readonly workspace: Workspace = openWorkspace();
  private readonly controller = new AbortController();
  private readonly closers: Closer[] = [];
  private closing?: Promise<void>;

  constructor() {
    // Every request under way listens to it, a dozen at a time. Node takes more than ten for a leak, and would tell
    // the user so.
    setMaxListeners(0, this.signal);
  }

  /** Aborted when the user asks to stop. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Folder of the lab, or one below it. */
  dir(...parts: string[]): string {
    return [this.workspace.dir, ...parts].join("/");
  }

  /** Remembers how to close what was opened just now. */
  onClose(closer: Closer): void {
    this.closers.push(closer);
  }

  abort(reason: string): void {
    if (!this.signal.aborted) this.controller.abort(new Error(reason));
  }

  /** Closes everything and removes the folder. May be called again. */
  close(): Promise<void> {
    return (this.closing ??= this.closeAll());
  }

  private async closeAll(): Promise<void> {
    for (const closer of this.closers.reverse()) {
      try {
        await closer();
      } catch (error) {
        console.error(`cleaning up: ${(error as Error).message}`);
      }
    }
    await this.workspace.remove();
  }
}
