import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { boundedYaml } from "../../recipe/rules/yaml";
import { isMapping, mappingAt } from "../../recipe/mapping";
import type { FieldFinding } from "../failure";

/** Why a talosconfig leads to no machine: its current context is not there. Undefined where it is. */
export function contextProblem(config: unknown): string | undefined {
  const contexts = mappingAt(config, "contexts");
  const context = isMapping(config) ? config["context"] : undefined;
  if (typeof context === "string" && Object.hasOwn(contexts, context)) return undefined;
  const names = Object.keys(contexts);
  const has = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
  if (typeof context !== "string" || context === "") return `it names no current context; ${has}`;
  return `its current context ${JSON.stringify(context)} is not among its contexts: ${has}`;
}

/** Files that talosctl looks for where TALOSCONFIG names none (talos, pkg/machinery/client/config/path.go). */
const usualFiles = (): string[] => [
  path.join(os.homedir(), ".talos", "config"),
  "/var/run/secrets/talos.dev/config",
];

/** A talosconfig as talosctl would take it. */
export interface TalosconfigInUse {
  /** Its content; undefined where there is none that can be read. */
  text?: string;
  /** Why it leads to no machine. */
  problem?: FieldFinding;
}

/**
 * The talosconfig that talosctl takes, and why it leads to no machine. talosctl itself says of each such file no more than `failed to
 * determine endpoints`.
 *
 * @param given its content; undefined where talosctl looks for a file.
 */
export function readTalosconfig(
  given: string | undefined,
  { TALOSCONFIG }: NodeJS.ProcessEnv,
): TalosconfigInUse {
  if (given !== undefined) return { text: given, ...withProblem(given, "the one that was given") };
  if (TALOSCONFIG === undefined || TALOSCONFIG === "") {
    const file = usualFiles().find((one) => fs.existsSync(one));
    if (file === undefined) return { problem: none };
    return readFile(file, file);
  }
  return readFile(TALOSCONFIG, `the file that TALOSCONFIG names (${TALOSCONFIG})`);
}

const field = "talosconfig";
const why = "the machines cannot be reached";

const none: FieldFinding = {
  field,
  problem: "there is none: TALOSCONFIG names no file, and there is no ~/.talos/config",
  why,
  remedy: "name the cluster's talosconfig by TALOSCONFIG",
};

function readFile(file: string, called: string): TalosconfigInUse {
  try {
    const text = fs.readFileSync(file, "utf8");
    return { text, ...withProblem(text, called) };
  } catch (error) {
    const { code = "error" } = error as NodeJS.ErrnoException;
    const problem = `${called} cannot be read (${code})`;
    return { problem: { field, problem, why, remedy: "correct TALOSCONFIG" } };
  }
}

function withProblem(text: string, called: string): { problem?: FieldFinding } {
  let config: unknown;
  try {
    config = boundedYaml(text);
  } catch {
    return {
      problem: {
        field,
        problem: `${called} is not YAML`,
        why,
        remedy: "give what `talosctl config` writes",
      },
    };
  }
  const wrong = contextProblem(config);
  if (wrong === undefined) return {};
  const remedy =
    "choose one by `talosctl config context NAME`, or give the talosconfig of this cluster";
  return { problem: { field, problem: `${called}: ${wrong}`, why, remedy } };
}
