import * as grpc from "@grpc/grpc-js";

const secondMilliseconds = 1000;
/** Looks in a row that find no engine, before it counts as gone. */
const patience = 3;

/** The engine that this host works for. */
export class Engine {
  private gone: () => void = () => undefined;
  private watch: NodeJS.Timeout | undefined;
  private channel: grpc.Channel | undefined;

  constructor(public address: string) {
    this.look();
  }

  /** Takes the address that the handshake tells. */
  meet(address: string): void {
    this.address = address;
    this.look();
  }

  /** Tells once nobody listens there any more: a CLI that was killed takes its host along (main.go, rpcutil.Healthcheck). */
  onGone(tell: () => void): void {
    this.gone = tell;
  }

  private look(): void {
    clearInterval(this.watch);
    this.channel?.close();
    if (this.address === "") return;
    const channel = new grpc.Channel(this.address, grpc.credentials.createInsecure(), {});
    let missed = 0;
    this.channel = channel;
    this.watch = setInterval(() => {
      const failed = channel.getConnectivityState(true) === grpc.connectivityState.TRANSIENT_FAILURE;
      missed = failed ? missed + 1 : 0;
      if (missed >= patience) this.gone();
    }, secondMilliseconds);
    this.watch.unref();
  }
}
