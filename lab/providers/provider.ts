/** Values by property name, as they travel between engine and provider. */
export type Properties = Record<string, unknown>;

/** What a call of the engine brings along, besides the values themselves. */
export interface CallContext {
  /** URN of the resource; empty for an invoke. */
  readonly urn: string;
  /** Name of the resource in the program, the last part of its URN. */
  readonly name: string;
  /** Inputs of the last update, secrets unwrapped. Set for diff, update, delete and read; else empty. */
  readonly oldInputs: Properties;
  /** Outputs of the last update, secrets unwrapped. Set for diff, update and delete; else empty. */
  readonly oldOutputs: Properties;
  /** Properties that `ignoreChanges` names. Set for diff and update. */
  readonly ignoreChanges: readonly string[];
  /** Aborted when the engine cancels the update or goes away; may be so from the start. */
  readonly signal: AbortSignal;
  /** Shows a line to the user, attributed to the resource. */
  log(severity: "debug" | "info" | "warning" | "error", message: string, options?: { ephemeral?: boolean }): void;
}

/** A result, now or later. */
export type Answer<Result> = Result | Promise<Result>;

/** A property that a check refuses, and why. */
export interface CheckFailure {
  /** Path of the property, e.g. `spec.replicas`. */
  readonly property: string;
  /** What is wrong with it and how to put it right. */
  readonly reason: string;
}

/** What would change. */
export interface DiffResult {
  /** Whether anything changes. */
  readonly changes: boolean;
  /** Top-level properties (or paths) that force a replacement. Empty: update in place. */
  readonly replaces: readonly string[];
  /** Paths that differ, for the preview's details. Default: computed from old and new inputs. */
  readonly detailed?: Readonly<Record<string, "add" | "delete" | "update">>;
}

/**
 * A resource provider, without the wire. Values arrive with secrets unwrapped and unknowns as `UNKNOWN`; results are
 * marked secret where the input of the same path was secret, and wherever the provider itself uses `secret(value)`.
 *
 * Errors: whatever a method throws becomes the error of that resource.
 */
export interface LabProvider {
  /** Name of the package, e.g. `command`. */
  readonly name: string;
  /** Version that the provider reports, e.g. `1.2.1`. */
  readonly version: string;
  /** Package schema as JSON. Default: an empty schema of that name and version. */
  readonly schema?: string;
  /** Takes the configuration of the provider resource; throws when it cannot be used. */
  configure?(config: Properties): Answer<void>;
  /** Validates inputs and fills in defaults and names. `olds` are the old inputs. Default: inputs as they are. */
  check?(
    type: string,
    olds: Properties,
    news: Properties,
    context: CallContext,
  ): Answer<{ inputs: Properties; failures: CheckFailure[] }>;
  /** Compares old inputs with new inputs, without contacting anything. Default: deep comparison, never a replacement. */
  diff?(type: string, id: string, olds: Properties, news: Properties, context: CallContext): Answer<DiffResult>;
  /** Creates; with `preview` it only says what the outputs would be. `timeoutSeconds` 0: the provider's default. */
  create(
    type: string,
    inputs: Properties,
    preview: boolean,
    urn: string,
    timeoutSeconds: number,
    context: CallContext,
  ): Answer<{ id: string; outputs: Properties }>;
  /** Reads the live state; `null` when the resource is gone. `state` is empty for an import. Default: the known state. */
  read?(
    type: string,
    id: string,
    state: Properties,
    context: CallContext,
  ): Answer<{ id: string; inputs: Properties; outputs: Properties } | null>;
  /** Updates in place. `olds` are the old outputs; the old inputs are in the context. */
  update(
    type: string,
    id: string,
    olds: Properties,
    news: Properties,
    preview: boolean,
    timeoutSeconds: number,
    context: CallContext,
  ): Answer<{ outputs: Properties }>;
  /** Deletes. `state` holds the outputs. Deleting what is already gone is no error. */
  delete(type: string, id: string, state: Properties, timeoutSeconds: number, context: CallContext): Answer<void>;
  /** Calls a function of the package. */
  invoke?(token: string, args: Properties, context: CallContext): Answer<Properties>;
}
