import { spawn } from "node:child_process";
import { setMaxListeners } from "node:events";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

/**
 * Memory near which a Go program of a lab collects its garbage: a sixteenth of the computer's, so that several labs fit
 * into it, and at least 256 MiB. At 256 MiB the API server spent a fifth of its time on collecting.
 */
function goMemoryLimit(): string {
  const sixteenthMiB = os.totalmem() / 16 / 2 ** 20;
  return `${Math.floor(Math.min(Math.max(sixteenthMiB, 256), 768))}MiB`;
}

/** A lab's folder, which disappears with the lab's processes when the lab ends. */
export interface Workspace {
  /** Absolute path of the folder. The lab writes only below it. */
  dir: string;
  /** Ends the lab's processes, then removes the folder. May be called again. */
  remove(): Promise<void>;
}

/**
 * Makes a folder for one lab and starts its janitor: a small process that waits until this process ends in any way.
 * Then it ends the lab's processes and removes the folder. So a killed lab leaves nothing either.
 */
export function openWorkspace(): Workspace {
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-lab-"));
  // Temporary files of this process and its children (credentials, the engine's event log) are removed with the folder.
  process.env.TMPDIR = path.join(dir, "tmp");
  fs.mkdirSync(process.env.TMPDIR);
  // Helm's cache of a cluster is also removed; by default Helm keeps it in the user's home.
  process.env.KUBECACHEDIR = path.join(dir, "kube-cache");
  // The janitor ends only processes with this mark, which all children inherit from here on.
  process.env.TALOS_GPU_LAB = dir;
  // Most programs of a lab are written in Go and run for seconds, so garbage collection would only cost time. A program
  // near the memory limit still collects (https://go.dev/doc/gc-guide#Memory_limit).
  process.env.GOGC ??= "400";
  process.env.GOMEMLIMIT ??= goMemoryLimit();
  const janitor = spawn(process.execPath, [path.join(__dirname, "janitor.js"), dir], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true, // Ctrl-C in a terminal reaches the whole process group, and the janitor must survive it
  });
  janitor.stdin.on("error", () => {});
  const janitorEnded = new Promise<void>((resolve) => janitor.on("close", () => resolve()));
  return {
    dir,
    remove: async () => {
      janitor.stdin.end();
      await janitorEnded;
    },
  };
}

type Closer = () => Promise<void> | void;

/** Open resources of a lab. `close` closes all of them in reverse order, even if one fails. */
export class Session {
  readonly workspace: Workspace = openWorkspace();
  private readonly controller = new AbortController();
  private readonly closers: Closer[] = [];
  private closing?: Promise<void>;

  constructor() {
    // A dozen requests listen to the signal at the same time. Node warns of a leak if there are more than ten
    // listeners.
    setMaxListeners(0, this.signal);
  }

  /** Aborted when the user asks to stop. */
  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Path of the lab's folder, or of a file below it. */
  dir(...parts: string[]): string {
    return [this.workspace.dir, ...parts].join("/");
  }

  /** Registers a function that `close` calls. */
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
