import * as grpc from "@grpc/grpc-js";

/** A method of a gRPC service with one answer, or with the error of whatever was thrown. `gone` is aborted when the caller goes away. */
export function unary<Request>(answer: (request: Request, gone: AbortSignal) => object | Promise<object>) {
  return (call: grpc.ServerUnaryCall<Request, unknown>, callback: grpc.sendUnaryData<unknown>): void => {
    const gone = new AbortController();
    call.on("cancelled", () => gone.abort(new Error("the engine went away")));
    void new Promise((resolve) => resolve(answer(call.request, gone.signal))).then(
      (reply) => callback(null, reply),
      (error: unknown) => callback(failureOf(error)),
    );
  };
}

/** What gRPC hands on of an error. */
export const failureOf = (error: unknown): Partial<grpc.StatusObject> => ({
  code: grpc.status.UNKNOWN,
  details: error instanceof Error ? error.message : String(error),
});

/** A message with its fields. */
export function filled<Message>(message: Message, fill: (message: Message) => void): Message {
  fill(message);
  return message;
}
