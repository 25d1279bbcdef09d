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
   * The program: a function of this process, or the folder of a project. The CLI runs the latter as for a user, by
   * the language host on PATH of `environment`. Such a project keeps its own name, and its settings where it says.
   */
  readonly program: Program | string;
  /** Configuration by full key (`talos-gpu:machines`), as it stands in a settings file. Default: none. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Secret configuration by full key, e.g. `talos-gpu:kubeconfig`. Default: none. */
  readonly secrets?: Readonly<Record<string, string>>;
  /**
   * Providers by name: the port of one that listens, or a plugin's program. `real` lets the CLI find the published
   * plugins.
   */
  readonly plugins: Readonly<Record<string, number | string>> | "real";
  /** Further environment of the engine and of real plugins. Default: this process' alone. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * When the state is written: after `each` step, so that a killed engine can continue; or only at the `end`, which
   * saves two fifths of the engine's time. The published plugins' engine writes after each. Default: each.
   */
  readonly checkpoints?: "each" | "end";
}

/** How to run one update. */
export interface RunOptions {
  readonly onEvent?: (progress: Progress) => void;
  /** Cancels, like Ctrl-C: resources under way may finish. */
  readonly signal?: AbortSignal;
  /** Longest time of the whole update in seconds; it is then cancelled. Default 3600. */
  readonly timeoutSeconds?: number;
  /** Reads the live state first. Default false. */
  readonly refresh?: boolean;
  /** Folders of policy packs that a preview or an update must keep to. Default: none. */
  readonly policyPacks?: readonly string[];
  /** URNs of resources that are made again, whatever they are like. Default: none. */
  readonly replace?: readonly string[];
}

/** Result of an update. */
export interface RunResult {
  readonly result: "succeeded" | "failed" | "cancelled";
  readonly changes: Changes;
  readonly seconds: number;
  /** Errors, warnings and what the program logged, e.g. `error machine (command:local:Command): …`. */
  readonly diagnostics: readonly string[];
  readonly policyPacks: readonly string[];
}
