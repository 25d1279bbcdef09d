import * as grpc from "@grpc/grpc-js";
import * as services from "@pulumi/pulumi/proto/provider_grpc_pb";
import { ProviderHandlers } from "./handlers";
import type { LabProvider } from "./provider";

export type { Answer, CallContext, CheckFailure, DiffResult, LabProvider, Properties } from "./provider";
export { UNKNOWN, containsUnknown, differences, secret } from "./values";

/** A provider that listens. */
export interface ServedProvider {
  /** Port on 127.0.0.1; belongs into `PULUMI_DEBUG_PROVIDERS` as `name:port`. */
  readonly port: number;
  /** Aborts what is under way and stops listening. */
  close(): Promise<void>;
}

// The engine sends whole Helm values and machine configurations; its own limit is 400 MiB (sdk/go/common/util/rpcutil).
const messageLimit = 400 * 1024 * 1024;

/** Serves a provider to the engine over gRPC, in this process. All provider resources of its package share it, and one configuration. */
export async function serveProvider(provider: LabProvider): Promise<ServedProvider> {
  const handlers = new ProviderHandlers(provider);
  const server = new grpc.Server({
    "grpc.max_receive_message_length": messageLimit,
    "grpc.max_send_message_length": messageLimit,
  });
  server.addService(services.ResourceProviderService, handlers.implementation());
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    ),
  );
  return {
    port,
    close: () => {
      handlers.close();
      server.forceShutdown();
      return Promise.resolve();
    },
  };
}
