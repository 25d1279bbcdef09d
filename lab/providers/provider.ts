import type { z } from "zod";

/** Values by property name, as they travel between engine and provider: secrets unwrapped, unknowns as `UNKNOWN`. */
export type Properties = Record<string, unknown>;

/** The engine's request about one resource. */
export interface ResourceCall {
  readonly type: string;
  /** Name of the resource in the program, the last part of its URN. */
  readonly name: string;
  /** ID of the resource; undefined before its creation. */
  readonly id?: string | undefined;
  /** The program's inputs; empty for a deletion. */
  readonly inputs: Properties;
  /** Inputs and outputs of the last update; empty for a creation. */
  readonly oldInputs: Properties;
  readonly oldOutputs: Properties;
  /** Properties that `ignoreChanges` names. */
  readonly ignoreChanges: readonly string[];
  /** Whether this is a preview, which only needs the outputs. */
  readonly preview: boolean;
  /** Limit in seconds; 0 means the provider's default. */
  readonly timeoutSeconds: number;
  /** Aborted when the engine cancels the update or disconnects; possibly from the start. */
  readonly signal: AbortSignal;
  /** Shows a line to the user, attributed to the resource. An ephemeral one is replaced by the next. */
  log(severity: "info" | "warning", message: string, ephemeral?: boolean): void;
}

/** A result, or a promise of one. */
export type MaybePromise<Result> = Result | Promise<Result>;

/** A property that a check refuses, with the reason. */
export interface CheckFailure {
  readonly property: string;
  readonly reason: string;
}

/** Error for arguments that a provider refuses; the text is the lab's. */
export function failuresOf(schema: z.ZodType, inputs: Properties): CheckFailure[] {
  const { error } = schema.safeParse(inputs);
  return (error?.issues ?? []).map(({ path, message }) => ({
    property: path.join("."),
    reason: message,
  }));
}

/** Changes that an update would make. */
export interface DiffResult {
  /** Paths that differ; empty if nothing changes. */
  readonly detailed: Readonly<Record<string, "add" | "delete" | "update">>;
  /** Top-level properties that force a replacement. Empty: update in place. */
  readonly replaces: readonly string[];
}

/**
 * A resource provider, without the gRPC layer. Results are marked secret where the input of the same path was secret,
 * and wherever the provider itself uses `secret(value)`. An error from a method becomes the error of that resource.
 */
export interface LabProvider {
  readonly name: string;
  readonly version: string;
  /** Receives the configuration of the provider resource. */
  configure?(config: Properties): void;
  /** Validates inputs, and gives the inputs to store. Default: accepts them unchanged. */
  check?(call: ResourceCall): { inputs: Properties; failures: CheckFailure[] };
  /**
   * Compares old inputs with new ones, without contacting anything. Default: every difference is an update in place.
   */
  diff?(call: ResourceCall): DiffResult;
  /** Creates a resource, or updates one that has an ID, which stays. */
  make(call: ResourceCall): MaybePromise<{ id: string; outputs: Properties }>;
  delete?(call: ResourceCall): MaybePromise<void>;
  invoke?(token: string, args: Properties, signal: AbortSignal): MaybePromise<Properties>;
}
