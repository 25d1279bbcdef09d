import * as grpc from "@grpc/grpc-js";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import * as status from "@pulumi/pulumi/proto/status_pb";
import { type CheckFailure, type DiffResult, InitializationError, type Properties } from "./provider";
import { differences, sdkMessage, toStruct } from "./values";

const { Any } = sdkMessage("any_pb");
const { Empty } = sdkMessage("empty_pb");

/** A message of the protocol; the service definition serialises it. */
export type Reply = object;

/** The answer of calls that have nothing to say. */
export const emptyMessage = (): Reply => new Empty();

/** Inputs as they will be kept, and what is wrong with them. */
export function checkReply(inputs: Properties, failures: readonly CheckFailure[]): Reply {
  const reply = new messages.CheckResponse();
  reply.setInputs(toStruct(inputs));
  for (const { property, reason } of failures) {
    const failure = new messages.CheckFailure();
    failure.setProperty(property);
    failure.setReason(reason);
    reply.addFailures(failure);
  }
  return reply;
}

const kinds = messages.PropertyDiff.Kind;
const kindOf = {
  add: [kinds.ADD, kinds.ADD_REPLACE],
  delete: [kinds.DELETE, kinds.DELETE_REPLACE],
  update: [kinds.UPDATE, kinds.UPDATE_REPLACE],
} as const;

/** What changes, with the paths that differ. */
export function diffReply(result: DiffResult, olds: Properties, news: Properties): Reply {
  const reply = new messages.DiffResponse();
  const { DIFF_NONE, DIFF_SOME } = messages.DiffResponse.DiffChanges;
  reply.setChanges(result.changes ? DIFF_SOME : DIFF_NONE);
  if (!result.changes) return reply;
  reply.setReplacesList([...result.replaces]);
  reply.setDeletebeforereplace(result.deleteBeforeReplace ?? false);
  const detailed = result.detailed ?? differences(olds, news);
  reply.setDiffsList([...new Set(Object.keys(detailed).map(firstName))]);
  reply.setHasdetaileddiff(true);
  for (const [path, kind] of Object.entries(detailed)) {
    const detail = new messages.PropertyDiff();
    const replaces = result.replaces.some((prefix) => path === prefix || /^[.[]/.test(afterPrefix(path, prefix)));
    detail.setKind(kindOf[kind][replaces ? 1 : 0]);
    detail.setInputdiff(true);
    reply.getDetaileddiffMap().set(path, detail);
  }
  return reply;
}

const firstName = (path: string): string => /^[^.[]+/.exec(path)?.[0] ?? path;
const afterPrefix = (path: string, prefix: string): string =>
  path.startsWith(prefix) ? path.slice(prefix.length) : "";

/** An error as gRPC carries it. */
class Failure extends Error {
  readonly code = grpc.status.UNKNOWN;

  constructor(
    public readonly details: string,
    public readonly metadata: grpc.Metadata = new grpc.Metadata(),
  ) {
    super(details);
    this.name = "Failure";
  }
}

/** Makes an error travel; a resource that exists but is not ready takes its state along, as a detail. */
export function toFailure(error: unknown, mark: (outputs: Properties) => Properties = (outputs) => outputs): Failure {
  if (error instanceof Failure) return error;
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof InitializationError)) return new Failure(message);
  const failed = new messages.ErrorResourceInitFailed();
  failed.setId(error.id);
  failed.setProperties(toStruct(mark(error.outputs)));
  failed.setReasonsList(error.reasons.length > 0 ? [...error.reasons] : [message]);
  const detail = new Any();
  detail.pack(failed.serializeBinary(), "pulumirpc.ErrorResourceInitFailed");
  const whole = new status.Status();
  whole.setCode(grpc.status.UNKNOWN);
  whole.setMessage(message);
  whole.addDetails(detail);
  const metadata = new grpc.Metadata();
  metadata.add("grpc-status-details-bin", Buffer.from(whole.serializeBinary()));
  return new Failure(message, metadata);
}
