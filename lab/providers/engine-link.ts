import * as grpc from "@grpc/grpc-js";
import { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb";
import { LogRequest, LogSeverity } from "@pulumi/pulumi/proto/engine_pb";

/** A provider's way to the engine of the update that is under way, and what it does for it. */
export class EngineLink {
  private readonly running = new Set<AbortController>();
  private engine?: EngineClient;
  private cancelled = false;

  /** Address of the engine that messages go to, `127.0.0.1:PORT`. */
  attach(address: string): void {
    this.engine?.close();
    this.engine = new EngineClient(address, grpc.credentials.createInsecure());
  }

  /** Sends one line to the user; resolves when the engine has it. A line that does not arrive is not worth an error. */
  log(urn: string, severity: keyof typeof severities, message: string, ephemeral: boolean): Promise<void> {
    const request = new LogRequest();
    request.setUrn(urn);
    request.setSeverity(severities[severity]);
    request.setMessage(message);
    request.setEphemeral(ephemeral);
    const engine = this.engine;
    if (!engine) return Promise.resolve();
    return new Promise((resolve) => engine.log(request, () => resolve()));
  }

  /** Runs one call with a signal that ends with the engine's cancellation. */
  async during<T>(work: (controller: AbortController) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    if (this.cancelled) controller.abort(cancellation());
    this.running.add(controller);
    try {
      return await work(controller);
    } finally {
      this.running.delete(controller);
    }
  }

  /** Aborts everything under way, and what the engine still sends before it has stopped. */
  cancel(): void {
    this.cancelled = true;
    for (const controller of this.running) controller.abort(cancellation());
  }

  /** A new update begins; what was cancelled before is over. */
  resume(): void {
    this.cancelled = false;
  }

  close(): void {
    this.cancel();
    this.engine?.close();
  }
}

const cancellation = (): Error => new Error("the update was cancelled");

const severities = {
  debug: LogSeverity.DEBUG,
  info: LogSeverity.INFO,
  warning: LogSeverity.WARNING,
  error: LogSeverity.ERROR,
} as const;
