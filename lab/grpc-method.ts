import * as grpc from "@grpc/grpc-js";

/**
 * Makes a method of a gRPC service from a function: its result is the answer, and a thrown error the gRPC error. `disconnected`
 * is aborted when the caller disconnects.
 */
export function unary<Request>(
  answer: (request: Request, disconnected: AbortSignal) => object | Promise<object>,
) {
  return (
    call: grpc.ServerUnaryCall<Request, unknown>,
    callback: grpc.sendUnaryData<unknown>,
  ): void => {
    const disconnection = new AbortController();
    call.on("cancelled", () => disconnection.abort(new Error("the engine disconnected")));
    void new Promise((resolve) => resolve(answer(call.request, disconnection.signal))).then(
      (reply) => callback(null, reply),
      (error: unknown) => callback(failureOf(error)),
    );
  };
}

/** Fields of an error that gRPC sends to the caller. */
export const failureOf = (error: unknown): Partial<grpc.StatusObject> => ({
  code: grpc.status.UNKNOWN,
  details: error instanceof Error ? error.message : String(error),
});

/** The fields of a message, with the types of its setters. */
type Fields<Message> = {
  [
    Setter in keyof Message as Setter extends `set${infer Name}` ? Uncapitalize<Name> : never
  ]?: Message[Setter] extends (value: infer Value) => unknown ? Value : never;
};

/** Makes a message with the given fields. */
export function withFields<Message extends object>(
  message: Message,
  fields: Fields<Message>,
): Message {
  const setters = message as Record<string, (value: unknown) => unknown>;
  for (const [name, value] of Object.entries(fields))
    setters[`set${name[0]!.toUpperCase()}${name.slice(1)}`]!(value);
  return message;
}

// A message may contain a schema, Helm values or machine configurations; the engine's own limit is 400 MiB
// (sdk/go/common/util/rpcutil).
const messageLimit = 400 * 1024 * 1024;

/** Serves a service on 127.0.0.1, at the port `port` of the result. */
export async function serveGrpc(
  service: grpc.ServiceDefinition,
  methods: grpc.UntypedServiceImplementation,
): Promise<{ server: grpc.Server; port: number }> {
  const limits = ["receive", "send"].map((direction) => [
    `grpc.max_${direction}_message_length`,
    messageLimit,
  ]);
  const server = new grpc.Server(Object.fromEntries(limits) as grpc.ServerOptions);
  server.addService(service, methods);
  const port = await new Promise<number>((resolve, reject) =>
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, boundPort) =>
      error ? reject(error) : resolve(boundPort),
    ),
  );
  return { server, port };
}
