import * as fs from "node:fs";
import { beginningOf, reasonOf } from "../../components/lookups/bounded-file";
import { findCard } from "../../components/recipe/facts/card";
import { releaseInTables, knownMinors } from "../../components/recipe/facts/talos-release";
import type { OutsideFile } from "../../components/recipe/external/document";
import { howToMakeFile } from "../import/unread";
import { inLine } from "../../components/recipe/rules/printable";
import { talosDocuments, tokensOf } from "../../components/recipe/rules/yaml";
import { isBeyondBounds } from "../../components/recipe/rules/yaml-bounds";
import { type Verb, valueOf } from "../verb";
import { painter } from "../terminal/paint";
import { yamlFiles } from "../yaml-files";
import { envOption, variablesNamed } from "../named-variables";
import { formats } from "./formats";
import { judgeSubjects, mostFindings } from "./judge-files";
import { reportLeftOut } from "./report-left";
import { shortName, subjectsOf } from "./subjects";

/** `talos-gpu check`: reports settings in the user's files that have no effect or will fail. */
export const check: Verb = {
  summary:
    "checks your files for settings that fail or have no effect on Talos; needs no stack, no cluster and no network",
  argument: { name: "FILE", several: true },
  options: {
    talos: {
      value: "VERSION",
      help: "Talos release to check for, e.g. v1.14.6; may be repeated; default: the release in the files, else the newest known release",
    },
    gpu: {
      value: "MODEL",
      help: "card of machines whose files name no card, e.g. 'GTX 1080' or 10de:1b06; without this option, checks that need the card are skipped",
    },
    "env-file": {
      value: "FILE",
      help: "file with variables of a talconfig.yaml; may be repeated; default: talenv.yaml in the folder of the talconfig.yaml",
    },
    env: envOption,
    format: {
      value: "FORMAT",
      help: `${Object.keys(formats).join(", ")} (github: annotations of a pull request); default: text`,
    },
  },
  more: `FILE is a file of one of these kinds, or a folder. In a folder, files of other kinds are skipped. Objects may also be items of a Kubernetes List.
Talos: talconfig.yaml, topf.yaml, machine configuration, patch (strategic merge or RFC 6902), schematic.
Charts: Flux HelmRelease with its repository, Argo CD Application, kustomization, helmfile.yaml, values of an NVIDIA chart, Chart.yaml with such a chart as a dependency.
Omni: cluster template, patch, list of extensions.
Kubernetes: RuntimeClass, Pod, any object with a pod template (such as a Deployment), HelmRelease of bjw-s' app-template.
`,
  run: async (args, output) => {
    const format = valueOf(args, "format") ?? "text";
    if (!Object.hasOwn(formats, format))
      throw new Error(
        `--format: ${format} is not a format; write one of ${Object.keys(formats).join(", ")}`,
      );
    const releases = (args.values["talos"] ?? []).map((name) =>
      name.startsWith("v") ? name : `v${name}`,
    );
    for (const release of releases)
      if (releaseInTables(release) === "unknown")
        throw new Error(
          `--talos: the package has no data about ${release}, so nothing can be checked for this release; give a release of ${knownMinors().join(", ")}`,
        );
    const model = valueOf(args, "gpu");
    if (model !== undefined && findCard(model) === undefined)
      throw new Error(
        `--gpu: ${model} is not a known card; write its name as nvidia-smi or lspci -nn prints it`,
      );
    const unread: UnreadFile[] = [];
    const reportFile = (file: string, problem: string): void =>
      void unread.push({ file: shortName(file), problem });
    const unopenedFiles: string[] = [];
    let characters = 0;
    const files = args.positionals.flatMap(filesOf).flatMap((file): OutsideFile[] => {
      if (characters > mostCharacters) {
        unopenedFiles.push(shortName(file));
        return [];
      }
      try {
        const { text, isWhole } = beginningOf(file);
        characters += text.length;
        if (isWhole) return [{ name: shortName(file), text }];
        if (args.positionals.includes(file) || /nvidia/i.test(text))
          reportFile(
            file,
            "is not checked: it has more than a million characters; give only the parts that matter",
          );
        return [];
      } catch (error) {
        const maker = howToMakeFile(file, shortName);
        reportFile(
          file,
          `cannot be read (${reasonOf(error)})${maker === undefined ? "" : `; ${maker}`}`,
        );
        return [];
      }
    });
    reportLeftOut(
      unopenedFiles,
      `the files before this one already have ${mostCharacters >> 20} MiB`,
      reportFile,
    );
    const readableFiles = readableFilesOf(files, reportFile);
    const roots = args.positionals.filter(isFolder);
    const options = {
      environment: variablesNamed(args),
      environmentFiles: args.values["env-file"],
    };
    const subjects = subjectsOf(
      readableFiles,
      options,
      reportFile,
      model === undefined ? undefined : { model },
      roots,
    );
    const subjectsOfKnownReleases = subjects.filter(({ spec: { talosVersion }, pieces }) => {
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
    const { findings, leftOut, unjudged } = judgeSubjects(
      subjectsOfKnownReleases,
      releases,
      readableFiles,
    );
    if (args.switches.has("json"))
      output.result(
        `${JSON.stringify({ files: files.length, checked: subjects.length, findings, unread })}\n`,
      );
    else output.result(formats[format]!(findings, painter(output.colour)), true);
    for (const { file, problem } of unread) output.remark(inLine(`${file}: ${problem}`));
    const omittedParts = [
      ...(leftOut > 0 ? [`, and ${leftOut} more were found`] : []),
      ...(unjudged > 0
        ? [`. ${unjudged} further machines, images, pods and releases were not checked`]
        : []),
    ];
    if (omittedParts.length > 0)
      output.remark(
        `Only the first ${mostFindings} findings are reported${omittedParts.join("")}. Fix the reported findings, then check again.`,
      );
    if (subjects.length === 0 && unread.length === 0)
      output.remark("No given file configures a Talos machine or an NVIDIA chart.");
    else if (findings.length === 0 && unread.length === 0) {
      const checkedFiles = new Set(
        subjects.flatMap(({ pieces }) => [...pieces.values()].map(({ file }) => shortName(file))),
      );
      output.remark(["Nothing is wrong in", ...[...checkedFiles].sort().map(inLine)].join("\n  "));
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
 * The largest number of tokens of all files together. Reading that many tokens takes a second or two. The largest
 * repositories of home clusters have 70,000 tokens.
 */
const mostTokens = 500_000;

/**
 * The files that the command can check, in their order. Files that mention NVIDIA or Talos are read first, so that the
 * limit affects other files. Files beyond the limit are reported.
 */
function readableFilesOf(
  files: readonly OutsideFile[],
  reportFile: (file: string, problem: string) => void,
): OutsideFile[] {
  const mentionsTalosOrNvidia = ({ text }: OutsideFile): boolean => /nvidia|talos/i.test(text);
  const readableFiles = new Set<OutsideFile>();
  const filesLeftOut: string[] = [];
  let tokens = 0;
  for (const file of [
    ...files.filter(mentionsTalosOrNvidia),
    ...files.filter((file) => !mentionsTalosOrNvidia(file)),
  ]) {
    if (tokens >= mostTokens) {
      filesLeftOut.push(file.name);
      continue;
    }
    if (isReadable(file, reportFile)) readableFiles.add(file);
    tokens += tokensOf(file.text);
  }
  reportLeftOut(
    filesLeftOut,
    `the files before this one already have ${mostTokens} YAML tokens`,
    reportFile,
  );
  return files.filter((file) => readableFiles.has(file));
}

/** Whether a file is YAML that the command can check. An unreadable file is reported only if it mentions NVIDIA. */
function isReadable(
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

const isFolder = (path: string): boolean => fs.existsSync(path) && fs.statSync(path).isDirectory();

/** A file, or the YAML files below a folder. */
function filesOf(path: string): string[] {
  if (!isFolder(path)) return [path];
  return yamlFiles(path, {
    skippedFolders: /^(?:node_modules|\.git)$/,
    names: /\.ya?ml(?:\.gotmpl)?$/,
    maxFiles: 20_000,
  });
}
