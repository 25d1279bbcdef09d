import type { z } from "zod";

/** Values by property name, as they travel between engine and provider: secrets unwrapped, unknowns as `UNKNOWN`. */
export type Properties = Record<string, unknown>;

/** Call of the engine about one resource. */
export interface ResourceCall {
  readonly type: string;
  /** Name of the resource in the program, the last part of its URN. */
  readonly name: string;
  /** Its ID; undefined while there is none. */
  readonly id?: string | undefined;
  /** The program's inputs; empty for a deletion. */
  readonly inputs: Properties;
  /** Inputs and outputs of the last update; empty for a creation. */
  readonly oldInputs: Properties;
  readonly oldOutputs: Properties;
  /** Properties that `ignoreChanges` names. */
  readonly ignoreChanges: readonly string[];
  /** Nothing is done: only the outputs are asked for. */
  readonly preview: boolean;
  /** 0: the provider's default. */
  readonly timeoutSeconds: number;
  /** Aborted when the engine cancels the update or goes away; may be so from the start. */
  readonly signal: AbortSignal;
  /** Shows a line to the user, attributed to the resource. An ephemeral one is replaced by the next. */
  log(severity: "info" | "warning", message: string, ephemeral?: boolean): void;
}

/** A result, now or later. */
export type Answer<Result> = Result | Promise<Result>;

/** A property that a check refuses, and why. */
export interface CheckFailure {
  readonly property: string;
  readonly reason: string;
}

/** Arguments of a resource that its provider refuses, in words of the lab's own. */
export function failuresOf(schema: z.ZodType, inputs: Properties): CheckFailure[] {
  const { error } = schema.safeParse(inputs);
  return (error?.issues ?? []).map(({ path, message }) => ({
    property: path.join("."),
    reason: message,
  }));
}

/** Changes that an update would make. */
export interface DiffResult {
  /** Paths that differ; none: nothing changes. */
  readonly detailed: Readonly<Record<string, "add" | "delete" | "update">>;
  /** Top-level properties that force a replacement. Empty: update in place. */
  readonly replaces: readonly string[];
}

/**
 * A resource provider, without the wire. Results are marked secret where the input of the same path was secret, and
 * wherever the provider itself uses `secret(value)`. What a method throws becomes the error of that resource.
 */
export interface LabProvider {
  readonly name: string;
  readonly version: string;
  /** Takes the configuration of the provider resource. */
  configure?(config: Properties): void;
  /** Validates inputs; gives them as they are to be kept. Default: they are right. */
  check?(call: ResourceCall): { inputs: Properties; failures: CheckFailure[] };
  /**
   * Compares old inputs with new ones, without contacting anything. Default: every difference is an update in place.
   */
  diff?(call: ResourceCall): DiffResult;
  /** Creates, or updates what has an ID already, which it then keeps. */
  make(call: ResourceCall): Answer<{ id: string; outputs: Properties }>;
  delete?(call: ResourceCall): Answer<void>;
  invoke?(token: string, args: Properties, signal: AbortSignal): Answer<Properties>;
}
