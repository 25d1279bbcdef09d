import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { boundedYaml } from "../../recipe/rules/yaml";
import { isMapping, mappingAt } from "../../recipe/mapping";
import type { FieldFinding } from "../failure";

/** Why a talosconfig is unusable: its current context does not exist. Undefined if the context exists. */
export function contextProblem(config: unknown): string | undefined {
  const contexts = mappingAt(config, "contexts");
  const context = isMapping(config) ? config["context"] : undefined;
  if (typeof context === "string" && Object.hasOwn(contexts, context)) return undefined;
  const names = Object.keys(contexts);
  const contextsText = names.length === 0 ? "it has none" : `it has ${names.join(", ")}`;
  if (typeof context !== "string" || context === "")
    return `it sets no current context: ${contextsText}`;
  return `its current context ${JSON.stringify(context)} is not among its contexts: ${contextsText}`;
}

/** Files that talosctl tries if TALOSCONFIG is not set (talos, pkg/machinery/client/config/path.go). */
const usualFiles = (): string[] => [
  path.join(os.homedir(), ".talos", "config"),
  "/var/run/secrets/talos.dev/config",
];

/** The talosconfig that talosctl would use. */
export interface TalosconfigInUse {
  /** Content of the talosconfig; undefined if there is no readable file. */
  text?: string;
  /** Why it is unusable. */
  problem?: FieldFinding;
}

/**
 * The talosconfig that talosctl uses, with a finding if it is unusable: talosctl itself would only print `failed to
 * determine endpoints`.
 *
 * @param passedText content of the talosconfig; undefined if talosctl must find a file.
 */
export function readTalosconfig(
  passedText: string | undefined,
  { TALOSCONFIG }: NodeJS.ProcessEnv,
): TalosconfigInUse {
  if (passedText !== undefined)
    return { text: passedText, ...withProblem(passedText, "the passed content") };
  if (TALOSCONFIG === undefined || TALOSCONFIG === "") {
    const file = usualFiles().find((candidate) => fs.existsSync(candidate));
    if (file === undefined) return { problem: missingTalosconfig };
    return readFile(file, file);
  }
  return readFile(TALOSCONFIG, `the file in TALOSCONFIG (${TALOSCONFIG})`);
}

const field = "talosconfig";
const why = "without a valid talosconfig the machines cannot be reached";

const missingTalosconfig: FieldFinding = {
  field,
  problem: "is missing: TALOSCONFIG is not set, and there is no ~/.talos/config",
  why,
  remedy: "set TALOSCONFIG to the path of the cluster's talosconfig",
};

function readFile(file: string, description: string): TalosconfigInUse {
  try {
    const text = fs.readFileSync(file, "utf8");
    return { text, ...withProblem(text, description) };
  } catch (error) {
    const { code = "error" } = error as NodeJS.ErrnoException;
    const problem = `${description} cannot be read (${code})`;
    return {
      problem: {
        field,
        problem,
        why,
        remedy: "set TALOSCONFIG to the path of a talosconfig that can be read",
      },
    };
  }
}

function withProblem(text: string, description: string): { problem?: FieldFinding } {
  let config: unknown;
  try {
    config = boundedYaml(text);
  } catch {
    return {
      problem: {
        field,
        problem: `${description} is not YAML`,
        why,
        remedy: "use a file that `talosctl config` writes",
      },
    };
  }
  const contextFault = contextProblem(config);
  if (contextFault === undefined) return {};
  const remedy =
    "choose a context with `talosctl config context NAME`, or pass the talosconfig of this cluster";
  return { problem: { field, problem: `${description}: ${contextFault}`, why, remedy } };
}
