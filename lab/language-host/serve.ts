import * as grpc from "@grpc/grpc-js";
import { LanguageRuntimeService } from "@pulumi/pulumi/proto/language_grpc_pb";
import { Children } from "./children";
import type { Engine } from "./engine";
import { handlers } from "./handlers";

/** A language host that listens. */
export interface ServedLanguageHost {
  /** Port on 127.0.0.1. */
  readonly port: number;
  /** Stops the programs that it started. */
  stop(): void;
}

// The engine's own limit (pulumi/pulumi, sdk/go/common/util/rpcutil): a schema travels in one message.
const messageLimit = 400 * 1024 * 1024;

/** Serves `pulumirpc.LanguageRuntime` for `runtime: nodejs`; methods without a handler answer UNIMPLEMENTED. */
export async function serveLanguageHost(engine: Engine): Promise<ServedLanguageHost> {
  const children = new Children();
  const server = new grpc.Server({
    "grpc.max_receive_message_length": messageLimit,
    "grpc.max_send_message_length": messageLimit,
  });
  server.addService(LanguageRuntimeService, handlers(engine, children));
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return { port, stop: () => children.stop() };
}
