import { type Finding, judgeWithFileTexts, type Severity } from "../../components/recipe/index";
import { checks } from "../../components/recipe/checks";
import { noHandler } from "../../components/recipe/checks/external";
import {
  capabilitiesOf,
  newestRelease,
  releaseInTables,
} from "../../components/recipe/facts/talos-release";
import { isWithin } from "../../components/recipe/machine/apart";
import type { OutsideFile } from "../../components/recipe/external/document";
import { isFilledIn } from "../../components/recipe/external/filled-in";
import { asText, valueAt } from "../../components/recipe/mapping";
import type { FindingText } from "../../components/recipe/rules";
import { talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";
import { unnamed } from "../stack-text";
import { lineIn, linesOf, type Piece, valueAtPath } from "../lines";
import type { Subject } from "./machines";

/** A finding about a setting in a file: the setting has no effect or will fail. */
export interface FileFinding extends FindingText {
  file: string;
  /** From 1. */
  line: number;
  check: string;
  severity: Severity;
  /** The checked Talos releases to which the finding applies. */
  talos: string[];
}

/**
 * A finding with its texts for a file that belongs to no stack; undefined if the finding does not apply to such a file.
 * A finding about a wrong shape comes from no check in `checks`, and always applies.
 */
function asOfFile({ ofFiles, ...finding }: Finding): Finding | undefined {
  const applies = ofFiles !== false && (checks[finding.check]?.ofFiles ?? true);
  return applies ? { ...finding, ...ofFiles } : undefined;
}

/**
 * The most findings that a run reports. A person does not read a thousand findings, and GitHub's code scanning accepts
 * at most 5,000.
 */
export const mostFindings = 1_000;

/**
 * Findings about subjects for each of the releases, without repetitions. Subjects after the last reported finding are
 * not checked. Without `releases`, each subject is checked for its own release. A subject without a release is checked
 * for the release of the other subjects, if these all have the same release. Otherwise it is checked for the release to
 * which tuppr upgrades, or else for the newest known release.
 */
export function judgeSubjects(
  subjects: readonly Subject[],
  releases: readonly string[],
  files: readonly OutsideFile[],
): { findings: FileFinding[]; leftOut: number; unjudged: number } {
  let [leftOut, unjudged] = [0, 0];
  const refused = new Map<string, FileFinding>();
  const remarked = new Map<string, FileFinding>();
  const statedVersions = new Set(subjects.flatMap(({ spec }) => spec.talosVersion ?? []));
  const defaultVersion =
    statedVersions.size === 1 ? [...statedVersions][0]! : (upgradeIn(files) ?? newestRelease());
  for (const { spec, pieces, about, findings: further } of subjects) {
    if (refused.size >= mostFindings) {
      unjudged++;
      continue;
    }
    const talosVersions = releases.length > 0 ? releases : [spec.talosVersion ?? defaultVersion];
    for (const talosVersion of talosVersions) {
      const { findings, remarks } = judgeWithFileTexts({ ...spec, talosVersion });
      for (const clusterFinding of [...findings, ...remarks, ...(further?.(talosVersion) ?? [])]) {
        const finding = asOfFile(clusterFinding);
        if (finding === undefined) continue;
        const { field, check, problem, why, remedy } = finding;
        // A stack may keep a setting that only has no effect. The author of a file should repair it.
        const severity = checks[check]?.severity ?? "refused";
        const findingsOfSeverity = severity === "refused" ? refused : remarked;
        if (!about.test(field) || problem.includes(`"${unnamed}"`)) continue;
        // Each finding is placed in its own file.
        if (findingsOfSeverity.size >= mostFindings) {
          leftOut++;
          continue;
        }
        const placed = placeOf(finding, severity, pieces);
        if (placed === undefined) continue;
        const key = JSON.stringify([placed.file, placed.line, check, placed.problem]);
        const sameFinding = findingsOfSeverity.get(key) ?? {
          ...placed,
          check,
          severity,
          why,
          remedy,
          talos: [],
        };
        if (!sameFinding.talos.includes(talosVersion)) sameFinding.talos.push(talosVersion);
        findingsOfSeverity.set(key, sameFinding);
      }
    }
  }
  const all = releases.length > 0 ? releases : [...statedVersions];
  const findings = [...refused.values(), ...remarked.values()];
  findings.push(...classesOf(files, all, [...refused.values()]));
  findings.sort((a, b) => a.file.localeCompare(b.file) || a.line - b.line);
  return { findings, leftOut, unjudged };
}

/**
 * The release to which tuppr upgrades the machines, if a file sets one (home-operations/tuppr, api/v1alpha1,
 * TalosUpgrade).
 */
function upgradeIn(files: readonly OutsideFile[]): string | undefined {
  const upgrades = files.filter(({ text }) => /^kind: *TalosUpgrade\b/m.test(text));
  const versions = upgrades.flatMap(({ text }) =>
    talosDocuments(text).map((document) =>
      asText(valueAt(valueOfDocument(document), "spec", "talos", "version")),
    ),
  );
  const knownVersions = new Set(
    versions.filter(
      (release) => /^v\d+\.\d+\.\d+/.test(release) && releaseInTables(release) !== "unknown",
    ),
  );
  return knownVersions.size === 1 ? [...knownVersions][0] : undefined;
}

/**
 * Findings about lines that name the RuntimeClass `nvidia`, for releases on which no machine has a handler for this
 * class. A line that already has a finding gets no second finding.
 */
function classesOf(
  files: readonly OutsideFile[],
  releases: readonly string[],
  refusedFindings: FileFinding[],
): FileFinding[] {
  const talos = releases.filter((release) => capabilitiesOf(release).toolkit === "operator");
  const [first] = talos;
  if (first === undefined) return [];
  const lines = new Set(refusedFindings.map(({ file, line }) => JSON.stringify([file, line])));
  const handlerFinding = noHandler(first);
  return files.flatMap(({ name: file, text }) =>
    text
      .split("\n")
      .flatMap((line, index) =>
        /^[\s-]*runtimeClassName: *["']?nvidia\b/.test(line) ? [index + 1] : [],
      )
      .filter((line) => !lines.has(JSON.stringify([file, line])))
      .map((line) => ({
        file,
        line,
        check: "external",
        severity: "refused" as const,
        talos,
        ...handlerFinding,
        problem: `runtimeClassName: ${handlerFinding.problem}`,
      })),
  );
}

/** A finding's file and line, and its problem in the words for the file's author. */
type Placed = Pick<FileFinding, "file" | "line" | "problem">;

/** Place of a finding; undefined if it is unknown, or if a tool fills in the text there. */
function placeOf(
  finding: Finding,
  severity: Severity,
  pieces: Map<string, Piece>,
): Placed | undefined {
  const { field, problem, place } = finding;
  if (place !== undefined) return placeOfValue(field, problem, place, pieces);
  const placeInPieces = severity === "refused" ? placeOfField : placeOfRemark;
  return placeInPieces(field, problem, pieces);
}

/**
 * Place of a remark on a machine. The place is in the first of the machine's sources that contains a name from the
 * remark. If no source contains such a name, the place is in the first source. Undefined if no source mentions NVIDIA,
 * because the machine's card is then made up.
 */
function placeOfRemark(
  field: string,
  problem: string,
  pieces: Map<string, Piece>,
): Placed | undefined {
  const [machine] = /^machines\.[^.\s]+/.exec(field) ?? [];
  const piecesOfMachine = [...pieces].flatMap(([fieldPath, piece]) =>
    machine !== undefined && isWithin(fieldPath, machine) ? [piece] : [],
  );
  // The card of a patch without settings of NVIDIA's was made up.
  if (!piecesOfMachine.some(({ text, part = "" }) => /nvidia/i.test(text) || /nvidia/i.test(part)))
    return undefined;
  const names = problem.split(/[\s,]+/).filter((word) => /\d/.test(word));
  const piece =
    piecesOfMachine.find(({ text }) => names.some((name) => text.includes(name))) ??
    piecesOfMachine[0];
  return piece ? { file: piece.file, line: lineIn(piece, problem), problem } : undefined;
}

/** Place of a finding about a value of a chart. Undefined if a tool fills in the text at that place. */
function placeOfValue(
  field: string,
  problem: string,
  { file, line }: NonNullable<Finding["place"]>,
  pieces: Map<string, Piece>,
): Placed | undefined {
  const wholeFile = [...pieces.values()].find((piece) => piece.file === file);
  if (wholeFile !== undefined && isFilledIn(linesOf(wholeFile.text)[line - wholeFile.line] ?? ""))
    return undefined;
  return { file, line, problem: `${nameOf(field)}${problem}` };
}

/**
 * Place of a finding in the source of its field. Undefined if the source is unknown, or if a tool fills in the text at
 * that place.
 */
function placeOfField(
  field: string,
  problem: string,
  pieces: Map<string, Piece>,
): Placed | undefined {
  const [, piece] =
    [...pieces]
      .filter(([fieldPath]) => isWithin(field, fieldPath))
      .sort(([a], [b]) => b.length - a.length)[0] ?? [];
  if (piece === undefined || isFilledAtPath(piece, problem.split(" ")[0]!)) return undefined;
  const isOfAllArguments = /\.kernelArgs$/.test(field) && problem.startsWith("is set");
  const line = isOfAllArguments
    ? lineIn(piece, "extraKernelArgs")
    : lineIn(
        piece,
        `${problem} ${field.split(".").at(-1) ?? ""}`,
        "officialExtensions systemExtensions",
      );
  if (isFilledIn(linesOf(piece.text)[line - piece.line] ?? "")) return undefined;
  return { file: piece.file, line, problem: `${nameOf(field)}${problem}` };
}

/**
 * Whether a finding's path leads to a text that a tool fills in. SOPS may encrypt a text before a template uses it.
 */
function isFilledAtPath({ text, part = text }: Piece, path: string): boolean {
  const values = talosDocuments(part).map((document) => valueAtPath(document, path));
  return values.some((value) => typeof value === "string" && isFilledIn(value));
}

/** The part of a field's path that the file also has, e.g. `driver.enabled` of `external.values.driver.enabled`. */
function nameOf(field: string): string {
  const name =
    /^external\.values\.(.*)$/.exec(field)?.[1] ?? /^workloads\.pods\.pod\.(.*)$/.exec(field)?.[1];
  const externalOrMachine =
    /^(?:external\.(\w+)|machines\.\S*?\.(extensions|kernelArgs|taints)\b.*)$/.exec(field);
  const word = name ?? externalOrMachine?.[1] ?? externalOrMachine?.[2];
  return word === undefined ? "" : `${word}: `;
}
