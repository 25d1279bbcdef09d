import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { boundedYaml } from "../../recipe/rules/yaml";
import { isMapping, mappingAt } from "../../recipe/mapping";
import type { FieldFinding } from "../failure";

/** Why a talosconfig is unusable: its current context does not exist. Undefined if it does. */
export function contextProblem(config: unknown): string | undefined {
  const contexts = mappingAt(config, "contexts");
  const context = isMapping(config) ? config["context"] : undefined;
  if (typeof context === "string" && Object.hasOwn(contexts, context)) return undefined;
  const names = Object.keys(contexts);
  const has = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
  if (typeof context !== "string" || context === "") return `it sets no current context: ${has}`;
  return `its current context ${JSON.stringify(context)} is not among its contexts: ${has}`;
}

/** Files that talosctl tries if TALOSCONFIG is not set (talos, pkg/machinery/client/config/path.go). */
const usualFiles = (): string[] => [
  path.join(os.homedir(), ".talos", "config"),
  "/var/run/secrets/talos.dev/config",
];

/** The talosconfig that talosctl would use. */
export interface TalosconfigInUse {
  /** Its content; undefined if there is no readable file. */
  text?: string;
  /** Why it is unusable. */
  problem?: FieldFinding;
}

/**
 * The talosconfig that talosctl uses, with a finding if it is unusable: talosctl itself would only print `failed to
 * determine endpoints`.
 *
 * @param given its content; undefined if talosctl must find a file.
 */
export function readTalosconfig(
  given: string | undefined,
  { TALOSCONFIG }: NodeJS.ProcessEnv,
): TalosconfigInUse {
  if (given !== undefined) return { text: given, ...withProblem(given, "the passed content") };
  if (TALOSCONFIG === undefined || TALOSCONFIG === "") {
    const file = usualFiles().find((one) => fs.existsSync(one));
    if (file === undefined) return { problem: none };
    return readFile(file, file);
  }
  return readFile(TALOSCONFIG, `the file in TALOSCONFIG (${TALOSCONFIG})`);
}

const field = "talosconfig";
const why = "without a valid talosconfig the machines cannot be reached";

const none: FieldFinding = {
  field,
  problem: "is missing: TALOSCONFIG is not set, and there is no ~/.talos/config",
  why,
  remedy: "set TALOSCONFIG to the path of the cluster's talosconfig",
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
        remedy: "use a file that `talosctl config` writes",
      },
    };
  }
  const wrong = contextProblem(config);
  if (wrong === undefined) return {};
  const remedy =
    "choose a context with `talosctl config context NAME`, or pass the talosconfig of this cluster";
  return { problem: { field, problem: `${called}: ${wrong}`, why, remedy } };
}
