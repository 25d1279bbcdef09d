import * as grpc from "@grpc/grpc-js";
import { EngineClient } from "@pulumi/pulumi/proto/engine_grpc_pb";
import { LogRequest, LogSeverity } from "@pulumi/pulumi/proto/engine_pb";
import { isDeepStrictEqual } from "node:util";
import type { LabProvider, Properties } from "./provider";

/** One provider resource of the program: its configured provider, its way to the user, what it has under way. */
export class Instance {
  private readonly running = new Set<AbortController>();
  private engine?: EngineClient;
  private config?: Properties;
  private cancelled = false;

  constructor(public readonly provider: LabProvider) {}

  /** Whether the engine has configured it, and with exactly this. */
  configuredWith(config: Properties): boolean {
    return this.config !== undefined && isDeepStrictEqual(this.config, config);
  }

  get configured(): boolean {
    return this.config !== undefined;
  }

  async configure(config: Properties): Promise<void> {
    await this.provider.configure?.(config);
    this.config = config;
  }

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

/**
 * Which connection belongs to which provider resource.
 *
 * Requests carry no name of the provider resource they are for, only the connection does; the engine dials once per
 * provider resource and shakes hands first. gRPC may reconnect by itself after 30 idle minutes and comes back as a
 * stranger: it is recognised when there is only one configuration it can mean, and refused otherwise.
 */
export class Instances {
  private readonly byPeer = new Map<string, Instance>();
  private readonly all = new Set<Instance>();
  private shared?: Instance;

  constructor(private readonly source: LabProvider | (() => LabProvider)) {}

  /** A new connection: a new provider, or the shared one. */
  introduce(peer: string): Instance {
    const instance = this.fresh();
    instance.resume();
    this.byPeer.set(peer, instance);
    this.all.add(instance);
    return instance;
  }

  /** The provider of a connection. Error: a stranger that could mean several. */
  of(peer: string): Instance {
    const known = this.byPeer.get(peer);
    if (known) return known;
    const configured = [...new Set(this.byPeer.values())].filter((instance) => instance.configured);
    if (configured.length > 1)
      throw new Error(
        `provider connection ${peer}: it reconnected, and ${configured.length} provider resources of this package are ` +
          `configured, so nothing tells which one it is for; run the update again, or use one provider resource`,
      );
    if (!configured[0]) return this.introduce(peer);
    this.byPeer.set(peer, configured[0]);
    return configured[0];
  }

  /** Gives the configuration to the provider of a connection. Error: a shared provider that already has another one. */
  async configure(peer: string, config: Properties): Promise<void> {
    const instance = this.of(peer);
    if (instance === this.shared && instance.configured && !instance.configuredWith(config))
      throw new Error(
        `provider ${instance.provider.name}: a second provider resource with a different configuration reached one ` +
          `shared provider, which would apply the first one's; serve it by a function that makes one per connection`,
      );
    await instance.configure(config);
  }

  /** Every provider that is alive; the engine's cancellation concerns the one of its connection only. */
  close(): void {
    for (const instance of this.all) instance.close();
    this.byPeer.clear();
    this.all.clear();
  }

  private fresh(): Instance {
    if (typeof this.source === "function") return new Instance(this.source());
    this.shared ??= new Instance(this.source);
    return this.shared;
  }
}
