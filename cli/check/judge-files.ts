import { judge } from "../../components/recipe/index";
import { newestRelease } from "../../components/recipe/facts/talos-release";
import { isWithin } from "../../components/recipe/machine/apart";
import { unnamed } from "../stack-text";
import { lineIn, type Piece } from "./lines";
import type { Subject } from "./subjects";

/** Something that has no effect or will fail, and where it stands. */
export interface FileFinding {
  file: string;
  /** From 1. */
  line: number;
  /** Name of the check. */
  check: string;
  problem: string;
  why: string;
  remedy: string;
  /** Talos releases on which it is so, of those that were asked for. */
  talos: string[];
}

/**
 * Rules of stacks alone: the same thing is right in a file of somebody's, as no stack stands beside it (who writes containerd's part,
 * labels, modules and image), or it was made up here.
 */
export const ofStacks = new Set([
  ...["containerd-part", "patch-node-labels", "patch-node-taints", "patch-identity", "patch-secret", "patch-conflict"],
  ...["install-image", "kernel-modules-once", "gpu-model", "machine-address", "machine-name", "upgrade-step"],
  ...["gpu-machine", "extension-without-gpu", "patch-role", "patch-delete", "gpu-requests"],
  // Its own Node Feature Discovery may label the machines.
  "values-without-gpus",
]);

/** A field of a stack, in whose place a configuration has its own. */
const ofStack = /\b(?:machines\.[^.\s]+|machineDefaults)\.moduleParameters\b/;

/**
 * What is wrong with subjects, on each of the releases; each thing once. A file that names no release is judged for the one that all others
 * name, if it is one.
 */
export function judgeSubjects(subjects: readonly Subject[], releases: readonly string[]): FileFinding[] {
  const found = new Map<string, FileFinding>();
  const named = new Set(subjects.flatMap(({ spec }) => spec.talosVersion ?? []));
  const usual = named.size === 1 ? [...named][0]! : newestRelease();
  for (const { spec, pieces, about } of subjects) {
    const asked = releases.length > 0 ? releases : [spec.talosVersion ?? usual];
    for (const talosVersion of asked) {
      for (const finding of judge({ ...spec, talosVersion }).findings) {
        if (!about.test(finding.field) || ofStacks.has(finding.check) || finding.problem.includes(`"${unnamed}"`))
          continue;
        // A list of operations is right for a configuration of one document.
        if (finding.check === "patch-format" && finding.problem.includes("JSON patch")) continue;
        const placed = placeOf(finding.field, finding.problem, pieces);
        if (placed === undefined) continue;
        const key = JSON.stringify([placed.file, placed.line, finding.check, placed.problem]);
        const sameFinding = found.get(key) ?? {
          ...placed,
          check: finding.check,
          why: finding.why,
          remedy: finding.remedy.replace(ofStack, "machine.kernel.modules[].parameters"),
          talos: [],
        };
        if (!sameFinding.talos.includes(talosVersion)) sameFinding.talos.push(talosVersion);
        found.set(key, sameFinding);
      }
    }
  }
  return [...found.values()].sort((one, other) => one.file.localeCompare(other.file) || one.line - other.line);
}

/** What a tool fills in before Talos sees it, so that nobody can tell from here what is there. */
const filledIn = /\$\{|\{\{|\{%|ENC\[|\b(?:op|vault):\/\/|\bref\+|<path:/;

/** Where a finding stands: as its problem says at its end, or in what its field was made of. Undefined where nobody can tell. */
function placeOf(
  field: string,
  problem: string,
  pieces: Map<string, Piece>,
): Pick<FileFinding, "file" | "line" | "problem"> | undefined {
  const atEnd = / \((?<file>[^()]+):(?<line>\d+)\)$/.exec(problem);
  if (atEnd?.groups !== undefined) {
    const { file = "" } = atEnd.groups;
    const line = Number(atEnd.groups["line"]);
    const whole = [...pieces.values()].find((piece) => piece.file === file);
    if (whole !== undefined && filledIn.test(whole.text.split("\n")[line - whole.line] ?? "")) return undefined;
    return { file, line, problem: `${nameOf(field)}${problem.slice(0, atEnd.index)}` };
  }
  const [, piece] = [...pieces].filter(([of]) => isWithin(field, of)).sort(([a], [b]) => b.length - a.length)[0] ?? [];
  if (piece === undefined) return undefined;
  const line = lineIn(piece, `${problem} ${field.split(".").at(-1)}`);
  if (filledIn.test(piece.text.split("\n")[line - piece.line] ?? "")) return undefined;
  return { file: piece.file, line, problem: `${nameOf(field)}${problem}` };
}

/** What of a field the file has, too, e.g. `driver.enabled` of `external.values.driver.enabled`. */
function nameOf(field: string): string {
  const name = /^external\.values\.(.*)$/.exec(field)?.[1] ?? /^workloads\.pods\.pod\.(.*)$/.exec(field)?.[1];
  const other = /^(?:external\.(\w+)|machines\.\S*?\.(extensions|kernelArgs|taints|containerd)\b.*)$/.exec(field);
  const word = name ?? other?.[1] ?? other?.[2];
  return word === undefined ? "" : `${word}: `;
}
