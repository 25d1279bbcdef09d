import type * as grpc from "@grpc/grpc-js";
import type * as messages from "@pulumi/pulumi/proto/provider_pb";
import type { EngineLink } from "./engine-link";
import type { CallContext, DiffResult, Properties } from "./provider";
import { differences, fromStruct, type Path, reveal } from "./values";

/** One request under way. */
export type Call<Request> = grpc.ServerUnaryCall<Request, unknown>;

/** What a request about one resource has in common. */
export interface ResourceRequest {
  getUrn(): string;
  getName(): string;
  getType(): string;
}

/** What a request tells about its resource's past and secrets. */
export interface Known {
  secrets?: readonly Path[];
  oldInputs?: Properties;
  oldOutputs?: Properties;
  ignoreChanges?: readonly string[];
}

/** The surroundings that a provider gets with a call; lines for the user gather in `lines` until they arrived. */
export function contextOf(
  link: EngineLink,
  resource: ResourceRequest,
  known: Known,
  signal: AbortSignal,
  lines: Promise<void>[],
): CallContext {
  const urn = resource.getUrn();
  return {
    urn,
    name: resource.getName() || urn.split("::").slice(3).join("::"),
    oldInputs: known.oldInputs ?? {},
    oldOutputs: known.oldOutputs ?? {},
    ignoreChanges: known.ignoreChanges ?? [],
    signal,
    log: (severity, message, options) => {
      lines.push(link.log(urn, severity, message, options?.ephemeral ?? false));
    },
  };
}

/** A message's values without secret marks. */
export const plain = (struct: Parameters<typeof fromStruct>[0]): Properties =>
  reveal(fromStruct(struct)).plain as Properties;

/** Old inputs; an engine that does not send them keeps them in the outputs. */
export function oldsOf(request: messages.DiffRequest | messages.UpdateRequest): Properties {
  return plain(request.hasOldInputs() ? request.getOldInputs() : request.getOlds());
}

/** Any difference is an update in place. */
export const defaultDiff = (olds: Properties, news: Properties): DiffResult => ({
  changes: Object.keys(differences(olds, news)).length > 0,
  replaces: [],
});
