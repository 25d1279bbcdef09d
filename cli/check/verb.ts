import * as fs from "node:fs";
import { beginningOf, reasonOf } from "../../components/lookups/bounded-file";
import { findCard } from "../../components/recipe/facts/card";
import { releaseInTables, knownMinors } from "../../components/recipe/facts/talos-release";
import type { OutsideFile } from "../../components/recipe/external/document";
import { makerOf } from "../import/unread";
import { inLine } from "../../components/recipe/rules/printable";
import { talosDocuments, tokensOf } from "../../components/recipe/rules/yaml";
import { isBeyondBounds } from "../../components/recipe/rules/yaml-bounds";
import { type Verb, valueOf } from "../verb";
import { painter } from "../terminal/paint";
import { yamlFiles } from "../yaml-files";
import { envOption, variablesNamed } from "../named-variables";
import { formats } from "./formats";
import { judgeSubjects, mostFindings } from "./judge-files";
import { reportLeft } from "./report-left";
import { shortName, subjectsOf } from "./subjects";

/** `talos-gpu check`: what has no effect or will fail in the user's files. */
export const check: Verb = {
  summary:
    "finds settings in your files that fail or have no effect on Talos; needs no stack, no cluster and no network",
  argument: { name: "FILE", several: true },
  options: {
    talos: {
      value: "VERSION",
      help: "Talos release to check for, e.g. v1.14.6; may be repeated; default: the release in the files, else the newest known",
    },
    gpu: {
      value: "MODEL",
      help: "card of machines whose files name no card, e.g. 'GTX 1080' or 10de:1b06; without it, checks that need the card are skipped",
    },
    "env-file": {
      value: "FILE",
      help: "file with variables of a talconfig.yaml; may be repeated; default: the talenv.yaml next to it, as talhelper does",
    },
    env: envOption,
    format: {
      value: "FORMAT",
      help: `${Object.keys(formats).join(", ")} (github: annotations of a pull request); default: text`,
    },
  },
  more: `FILE is one of these files, or a folder with some of them; other files of a folder are skipped. Objects may also be items of a Kubernetes List.
Talos: talconfig.yaml, topf.yaml, machine configuration, patch (strategic merge or RFC 6902), schematic.
Charts: Flux HelmRelease with its repository, Argo CD Application, kustomization, helmfile.yaml, values of an NVIDIA chart, Chart.yaml that depends on one.
Omni: cluster template, patch, list of extensions.
Kubernetes: RuntimeClass, Pod, Deployment or another object with a pod template, HelmRelease of bjw-s' app-template.
`,
  run: async (given, output) => {
    const format = valueOf(given, "format") ?? "text";
    if (!Object.hasOwn(formats, format))
      throw new Error(
        `--format: ${format} is not a format; write one of ${Object.keys(formats).join(", ")}`,
      );
    const releases = (given.values["talos"] ?? []).map((name) =>
      name.startsWith("v") ? name : `v${name}`,
    );
    for (const release of releases)
      if (releaseInTables(release) === "unknown")
        throw new Error(
          `--talos: the package has no data about ${release}, so nothing can be checked for this release; give a release of ${knownMinors().join(", ")}`,
        );
    const model = valueOf(given, "gpu");
    if (model !== undefined && findCard(model) === undefined)
      throw new Error(
        `--gpu: ${model} is not a known card; write its name as nvidia-smi or lspci -nn prints it`,
      );
    const unread: UnreadFile[] = [];
    const reportFile = (file: string, problem: string): void =>
      void unread.push({ file: shortName(file), problem });
    const unopened: string[] = [];
    let characters = 0;
    const files = given.positionals.flatMap(filesOf).flatMap((file): OutsideFile[] => {
      if (characters > mostCharacters) {
        unopened.push(shortName(file));
        return [];
      }
      try {
        const { text, isWhole } = beginningOf(file);
        characters += text.length;
        if (isWhole) return [{ name: shortName(file), text }];
        if (given.positionals.includes(file) || /nvidia/i.test(text))
          reportFile(
            file,
            "is not checked: it has more than a million characters; give only the parts that matter",
          );
        return [];
      } catch (error) {
        const maker = makerOf(file, shortName);
        reportFile(
          file,
          `cannot be read (${reasonOf(error)})${maker === undefined ? "" : `; ${maker}`}`,
        );
        return [];
      }
    });
    reportLeft(
      unopened,
      `the files before it already have ${mostCharacters >> 20} MiB`,
      reportFile,
    );
    const sound = readInTurn(files, reportFile);
    const roots = given.positionals.filter(isFolder);
    const said = { environment: variablesNamed(given), environmentFiles: given.values["env-file"] };
    const subjects = subjectsOf(
      sound,
      said,
      reportFile,
      model === undefined ? undefined : { model },
      roots,
    );
    const ofKnownReleases = subjects.filter(({ spec: { talosVersion }, pieces }) => {
      if (
        releases.length > 0 ||
        talosVersion === undefined ||
        releaseInTables(talosVersion) !== "unknown"
      )
        return true;
      const [file = ""] = [...pieces.values()].map((piece) => piece.file);
      reportFile(
        file,
        `the package has no data about Talos ${talosVersion}, so this file is not checked; give a known release (--talos)`,
      );
      return false;
    });
    const { findings, leftOut, unjudged } = judgeSubjects(ofKnownReleases, releases, sound);
    if (given.switches.has("json"))
      output.result(
        `${JSON.stringify({ files: files.length, judged: subjects.length, findings, unread })}\n`,
      );
    else output.result(formats[format]!(findings, painter(output.colour)), true);
    for (const { file, problem } of unread) output.remark(inLine(`${file}: ${problem}`));
    const untold = [
      ...(leftOut > 0 ? [`, and ${leftOut} more were found`] : []),
      ...(unjudged > 0
        ? [`. ${unjudged} further machines, images, pods and releases were not checked`]
        : []),
    ];
    if (untold.length > 0)
      output.remark(
        `Only the first ${mostFindings} findings are reported${untold.join("")}. Fix the reported findings, then check again.`,
      );
    if (subjects.length === 0 && unread.length === 0)
      output.remark("No given file configures a Talos machine or an NVIDIA chart.");
    else if (findings.length === 0 && unread.length === 0) {
      const looked = new Set(
        subjects.flatMap(({ pieces }) => [...pieces.values()].map(({ file }) => shortName(file))),
      );
      output.remark(["Nothing is wrong in", ...[...looked].sort().map(inLine)].join("\n  "));
    }
    const isRefused = findings.some(({ severity }) => severity === "refused");
    return isRefused ? 1 : unread.length > 0 ? 2 : 0;
  },
};

/** A file that is not checked, and the reason. */
interface UnreadFile {
  file: string;
  problem: string;
}

/** The largest number of characters of all files together. */
const mostCharacters = 64 * 2 ** 20;

/**
 * The largest number of tokens of all files together. So many take a second or two. The largest repositories of a home
 * cluster have 70,000.
 */
const mostTokens = 500_000;

/**
 * The files that the command can check, in their order. Up to the limit it reads files that name NVIDIA or Talos before
 * others. It reports each file that it does not read.
 */
function readInTurn(
  files: readonly OutsideFile[],
  reportFile: (file: string, problem: string) => void,
): OutsideFile[] {
  const telling = ({ text }: OutsideFile): boolean => /nvidia|talos/i.test(text);
  const sound = new Set<OutsideFile>();
  const left: string[] = [];
  let tokens = 0;
  for (const file of [...files.filter(telling), ...files.filter((file) => !telling(file))]) {
    if (tokens >= mostTokens) {
      left.push(file.name);
      continue;
    }
    if (isSound(file, reportFile)) sound.add(file);
    tokens += tokensOf(file.text);
  }
  reportLeft(left, `the files before it already have ${mostTokens} YAML tokens`, reportFile);
  return files.filter((file) => sound.has(file));
}

/** Whether a file is YAML that the command can check. The report names a file that is not read and mentions NVIDIA. */
function isSound(
  { name, text }: OutsideFile,
  reportFile: (file: string, problem: string) => void,
): boolean {
  const [error] = talosDocuments(text).flatMap(({ errors }) => errors);
  if (error === undefined) return true;
  if (/nvidia/i.test(text))
    reportFile(
      name,
      isBeyondBounds(error)
        ? `is not checked: ${error.message}; give only the parts that matter`
        : `is not checked: it is not YAML (${error.message.split("\n")[0]!.replace(/:$/, "")})`,
    );
  return false;
}

const isFolder = (given: string): boolean =>
  fs.existsSync(given) && fs.statSync(given).isDirectory();

/** A file, or the YAML files below a folder. */
function filesOf(given: string): string[] {
  if (!isFolder(given)) return [given];
  return yamlFiles(given, {
    passedOver: /^(?:node_modules|\.git)$/,
    names: /\.ya?ml(?:\.gotmpl)?$/,
    most: 20_000,
  });
}
