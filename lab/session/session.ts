import { setMaxListeners } from "node:events";
import { openWorkspace, type Workspace } from "./workspace";

type Closer = () => Promise<void> | void;

/**
 * What a lab has open. Closes in reverse order, everything, even when one of them fails; a signal closes it as well.
 */
export class Session {
  readonly workspace: Workspace = openWorkspace();
  private readonly controller = new AbortController();
  private readonly closers: Closer[] = [];
  private closing?: Promise<void>;

  constructor() {
    // Every request under way listens to it, a dozen at a time. Node takes more than ten for a leak, and would tell the user so.
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
