import * as grpc from "@grpc/grpc-js";
import * as messages from "@pulumi/pulumi/proto/provider_pb";
import type { CheckFailure, DiffResult, Properties } from "./provider";
import { differences, sdkMessage, toStruct } from "./values";

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
export const toFailure = (error: unknown): Pick<grpc.ServiceError, "code" | "details"> => ({
  code: grpc.status.UNKNOWN,
  details: error instanceof Error ? error.message : String(error),
});
