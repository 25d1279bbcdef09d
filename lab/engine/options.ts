import type { Changes, Progress } from "./events";
import type { Program } from "./program";

/** Inputs of the engine. */
export interface LabEngineOptions {
  readonly pulumi: string;
  /**
   * Folder for everything the engine keeps: project, settings, state, home, `events.jsonl`. Only the caller removes
   * it.
   */
  readonly dir: string;
  /** Name of the project, which is the default namespace of its configuration. */
  readonly project: string;
  readonly stack: string;
  /**
   * The program: a function of this process, or the folder of a project. The CLI runs a project like a user's, with the
   * language host on PATH of `environment`. A project keeps its own name, and its settings in its `stackConfigDir`.
   */
  readonly program: Program | string;
  /** Configuration by full key (`talos-gpu:machines`), as in a settings file. Default: none. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Secret configuration by full key, e.g. `talos-gpu:kubeconfig`. Default: none. */
  readonly secrets?: Readonly<Record<string, string>>;
  /**
   * Providers by name: the port of one that listens, or a plugin's program. `real` lets the CLI find the published
   * plugins.
   */
  readonly plugins: Readonly<Record<string, number | string>> | "real";
  /** Further environment of the engine and of real plugins. Default: only this process' environment. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * When the state is written: after `each` step, so that a killed engine can continue; or only at the `end`, which
   * saves two fifths of the engine's time. The published plugins' engine writes after each. Default: each.
   */
  readonly checkpoints?: "each" | "end";
}

/** Options of one update. */
export interface RunOptions {
  readonly onEvent?: (progress: Progress) => void;
  /** Cancels, like Ctrl-C: resources under way may finish. */
  readonly signal?: AbortSignal;
  /** Limit of the whole update in seconds, after which it is cancelled. Default: 3600. */
  readonly timeoutSeconds?: number;
  /** Reads the live state first. Default false. */
  readonly refresh?: boolean;
  /** Folders of policy packs that a preview or an update must satisfy. Default: none. */
  readonly policyPacks?: readonly string[];
  /** URNs of resources to replace (`--replace`). Default: none. */
  readonly replace?: readonly string[];
}

/** Result of an update. */
export interface RunResult {
  readonly result: "succeeded" | "failed" | "cancelled";
  readonly changes: Changes;
  readonly seconds: number;
  /** Errors, warnings and the program's log messages, e.g. `error machine (command:local:Command): …`. */
  readonly diagnostics: readonly string[];
  readonly policyPacks: readonly string[];
}
