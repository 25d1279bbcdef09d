import * as path from "node:path";
import { gpuProviderOfChart } from "../../components/recipe/facts/gpu-provider";
import type {
  ClusterSpec,
  ExternalSpec,
  GpuSpec,
  MachineSpec,
} from "../../components/recipe/index";
import { defined, filled, isMapping } from "../../components/recipe/mapping";
import type { OutsideFile } from "../../components/recipe/external/document";
import { isChartSource } from "../../components/recipe/external/external";
import { releasesIn } from "../../components/recipe/external/read";
import { taintText } from "../../components/recipe/machine/taints";
import { entriesOf, talosDocuments, valueOfDocument } from "../../components/recipe/rules/yaml";
import { exposure, factoryOf, patchesOf } from "../import/convert";
import { imageOf } from "../import/image";
import { machinesOf } from "../import/machine-configuration";
import { namesMachines, readSource, type SourceOptions } from "../import/source";
import { type Talconfig, withRole } from "../import/talconfig";
import { unreadFinding } from "../import/unread";
import { type Cluster, clustersOf, shareCluster } from "../clusters";
import { lineOfText, type Piece, pieceAt } from "../lines";
import {
  gpu,
  type Machine,
  subjectOfMachines,
  subjectOfPatch,
  subjectOfSchematic,
  pieceOf,
  type Subject,
} from "./machines";
import { subjectsOfOmni } from "./omni";
import { releasesNear } from "./release-near";
import { reportLeftOut } from "./report-left";
import { withoutSops } from "./sops";
import { type GpuPart, gpuPartsOf } from "./pods";

/**
 * Subjects in files about GPUs on Talos. Files of other kinds have none.
 *
 * @param options variables that the user names.
 * @param reportFile receives each file that names something unreadable.
 * @param card of the machines whose files do not name one. Default: an unknown card.
 * @param roots folders that the user named. A talconfig may name files in these folders, and files of its own project.
 * Default: none.
 */
export function subjectsOf(
  files: readonly OutsideFile[],
  options: Pick<SourceOptions, "environment" | "environmentFiles">,
  reportFile: (file: string, problem: string) => void,
  card: GpuSpec = gpu,
  roots: readonly string[] = [],
): Subject[] {
  const subjects: Subject[] = [];
  for (const file of files.filter(({ text }) => namesMachines(text))) {
    try {
      subjects.push(
        subjectOfTalconfig(
          { file: file.name, line: 1, text: file.text },
          { ...options, roots },
          reportFile,
        ),
      );
    } catch (error) {
      reportFile(file.name, `is not checked: ${(error as Error).message}`);
    }
  }
  // A patch that a talconfig names is already checked with that talconfig, for its cluster's release.
  const filesOfTalconfigs = new Set(
    subjects.flatMap(({ pieces }) => [...pieces.values()].map(({ file }) => path.resolve(file))),
  );
  const otherFiles = files.filter(
    ({ name, text }) => !filesOfTalconfigs.has(path.resolve(name)) && !namesMachines(text),
  );
  const releaseNear = releasesNear(roots);
  const parts = otherFiles.map((file) => ({ file: file.name, subjects: subjectsOfFile(file) }));
  const clusters = [...subjects, ...parts.flatMap((part) => part.subjects)]
    .filter(({ isCluster }) => isCluster)
    .map(clusterOf);
  /**
   * Releases to which a file may belong: the release of its folder or of a folder above, else the releases of its
   * clusters.
   */
  const releasesOf = (file: string): string[] => {
    const nearRelease = releaseNear(file);
    if (nearRelease !== undefined) return [nearRelease];
    return [...new Set(clustersOf(file, clusters).flatMap(({ release }) => release ?? []))];
  };
  const charts = withinMachineLimit(subjectsOfCharts(otherFiles, reportFile), reportFile);
  const externalOf = (subject: Subject): ExternalSpec => {
    const mayBelongToSubject = (chart: Subject): boolean =>
      shareCluster(fileOf(chart), fileOf(subject), clusters);
    const chartIndex = charts.findIndex(mayBelongToSubject);
    if (chartIndex < 0 || charts.findLastIndex(mayBelongToSubject) !== chartIndex)
      return unknownRelease;
    return charts[chartIndex]!.spec.external!;
  };
  const subjectsWithReleases = [
    ...subjects,
    ...parts.flatMap(({ file, subjects: ofPart }) =>
      ofPart.flatMap((subject) => withReleases(subject, releasesOf(file))),
    ),
  ];
  const machines = withinMachineLimit(subjectsWithReleases, reportFile)
    .flatMap((subject) => [subject, ...(subject.furtherSubjects ?? [])])
    .map((subject) => ({
      ...subject,
      spec:
        subject.spec.workloads === undefined
          ? { ...subject.spec, external: externalOf(subject) }
          : subject.spec,
    }));
  const releasedCharts = charts.flatMap((chart) =>
    withReleases(
      chart,
      clustersOf(fileOf(chart), clusters).flatMap(({ release }) => release ?? []),
    ),
  );
  const allSubjects = withinEntryLimit([...machines, ...releasedCharts], reportFile);
  return card === gpu
    ? allSubjects
    : allSubjects.map((subject) => ({ ...subject, spec: withCard(subject.spec, card) }));
}

/** The largest number of machines, images, pods and releases that are checked: each takes some milliseconds. */
const mostSubjects = 2_000;

/** The first subjects up to the limit; the report names the files of the subjects that are left out. */
function withinMachineLimit(
  subjects: Subject[],
  reportFile: (file: string, problem: string) => void,
): Subject[] {
  const sizes = subjects.map(
    ({ spec, furtherSubjects = [] }) =>
      Object.keys(spec.machines ?? {}).length + furtherSubjects.length,
  );
  let count = 0;
  const firstBeyondLimit = subjects.findIndex(
    (_, index) => (count += sizes[index]!) > mostSubjects,
  );
  if (firstBeyondLimit < 0) return subjects;
  const filesLeftOut = new Set(
    subjects
      .slice(firstBeyondLimit)
      .flatMap(({ pieces }) => [...pieces.values()].map(({ file }) => file)),
  );
  for (const file of filesLeftOut)
    reportFile(
      file,
      `is not checked, or only partly: all files together have more than ${mostSubjects} machines, images, pods and releases; give fewer files at once, or only parts of this file`,
    );
  return subjects.slice(0, firstBeyondLimit);
}

/**
 * The largest number of entries that are checked in all files together, apart from the lists of machines of whole
 * clusters. Each entry takes some hundredths of a millisecond.
 */
const mostEntries = 40_000;

/**
 * The first subjects up to the limit, and all whole clusters; the report names the files of the subjects that are left
 * out.
 */
function withinEntryLimit(
  subjects: Subject[],
  reportFile: (file: string, problem: string) => void,
): Subject[] {
  const counted = new Set<string>();
  const filesLeftOut = new Set<string>();
  let entries = 0;
  const subjectsWithinLimit = subjects.filter(({ pieces, isCluster }) => {
    if (isCluster) return true;
    if (entries >= mostEntries) {
      for (const { file } of pieces.values()) filesLeftOut.add(file);
      return false;
    }
    for (const { text, part = text } of pieces.values()) {
      if (!counted.has(part)) entries += entriesOf(part);
      counted.add(part);
    }
    return true;
  });
  reportLeftOut(
    [...filesLeftOut],
    `the parts that were checked earlier already have ${mostEntries} YAML entries`,
    reportFile,
  );
  return subjectsWithinLimit;
}

/** The file of a subject. */
const fileOf = ({ pieces }: Subject): string => [...pieces.values()][0]?.file ?? "";

const clusterOf = (subject: Subject): Cluster & { release: string | undefined } => ({
  folder: path.dirname(subject.pieces.get("talosVersion")?.file ?? fileOf(subject)),
  release: subject.spec.talosVersion,
});

/**
 * Copies of a subject without a release, one for each release to which it may belong. If no such release is known, the
 * list has only the subject itself.
 */
function withReleases(subject: Subject, releases: readonly string[]): Subject[] {
  const { spec, furtherSubjects = [] } = subject;
  if (spec.talosVersion !== undefined || releases.length === 0) return [subject];
  return [...new Set(releases)].map((talosVersion) => {
    const withRelease = (variant: Subject): Subject => ({
      ...variant,
      spec: { ...variant.spec, talosVersion },
    });
    return { ...withRelease(subject), furtherSubjects: furtherSubjects.map(withRelease) };
  });
}

/** The machine of a subject whose files name no machine. */
const madeUp: ClusterSpec["machines"] = {
  node: { address: "192.0.2.1", role: "worker", configuration: "adopted", gpus: [gpu] },
};

/** The GPU provider of subjects whose files name none. */
const unknownRelease: ExternalSpec = { kind: "devicePlugin" };

function withCard(spec: Partial<ClusterSpec>, card: GpuSpec): Partial<ClusterSpec> {
  const machines = Object.entries(spec.machines ?? {}).map(
    ([name, machine]): [string, MachineSpec] => [
      name,
      { ...machine, ...(machine.gpus?.length ? { gpus: [card] } : {}) },
    ],
  );
  return { ...spec, machines: Object.fromEntries(machines) };
}

/** All top-level fields of a machine configuration (talos, pkg/machinery/config/types/v1alpha1, Config). */
const rootKeys = ["version", "debug", "persist", "machine", "cluster"];

function isPatch(value: Record<string, unknown>): boolean {
  // Objects of other tools may have an apiVersion of that name, too. They have metadata, which Talos' documents lack.
  if (value["kind"] !== undefined)
    return value["apiVersion"] === "v1alpha1" && value["metadata"] === undefined;
  const keys = Object.keys(value);
  return (
    keys.every((key) => rootKeys.includes(key)) &&
    (isMapping(value["machine"]) || isMapping(value["cluster"]))
  );
}

const isSchematic = (value: unknown): boolean =>
  isMapping(value) && isMapping(value["customization"]) && value["kind"] === undefined;

function subjectsOfFile({ name, text }: OutsideFile): Subject[] {
  // talhelper replaces two dollars by one (`$$patch: delete`).
  const whole: Piece = pieceOf(name, 1, withoutSops(text.replaceAll("$$", "$")));
  const documents = talosDocuments(whole.text);
  const values = documents.map(valueOfDocument).filter(isMapping);
  const machines = machinesOf(whole.text, name);
  if (machines.length > 0)
    return machines.map(({ node, talosVersion }) => {
      const ownFields: Partial<MachineSpec> = {
        role: node.controlPlane ? "controlplane" : "worker",
      };
      const patchText = node.patches![0]!;
      const piece = {
        ...whole,
        line: patchText === whole.text ? 1 : lineOfText(text, patchText),
        text: patchText,
      };
      return subjectOfMachines([{ name: node.hostname, ownFields, pieces: [piece] }], talosVersion);
    });
  if (whole.part !== undefined || (values.length > 0 && values.every(isPatch)))
    return [subjectOfPatch(whole)];
  const omniSubjects = subjectsOfOmni(values, whole);
  if (omniSubjects.length > 0) return omniSubjects;
  const schematics = documents.filter((document) => isSchematic(valueOfDocument(document)));
  if (schematics.length > 0)
    return schematics.map((document) =>
      subjectOfSchematic(
        valueOfDocument(document) as Record<string, unknown>,
        pieceAt(whole, document, []),
      ),
    );
  return documents.flatMap((document) =>
    gpuPartsOf(valueOfDocument(document)).map((part) =>
      subjectOfPart(part, pieceAt(whole, document, part.path)),
    ),
  );
}

function subjectOfTalconfig(
  whole: Piece,
  options: Omit<SourceOptions, "schematicFiles">,
  reportFile: (file: string, problem: string) => void,
): Subject {
  const { config, schematics, patchFiles, unread } = readSource([whole.file], {
    ...options,
    schematicFiles: [],
  });
  for (const unreadFile of unread) {
    const { problem, why, remedy } = unreadFinding(unreadFile, shortName);
    reportFile(whole.file, `${problem}; ${why}; ${remedy}`);
  }
  const patchPiece = (text: string): Piece => {
    const patchFile = patchFiles.get(text);
    if (patchFile !== undefined && patchFile.text !== text)
      return {
        file: shortName(patchFile.file),
        line: 1,
        text: withoutActions(patchFile.text),
        part: text,
      };
    if (patchFile !== undefined) return pieceOf(shortName(patchFile.file), 1, withoutSops(text));
    return pieceOf(whole.file, lineOfText(whole.text, text), text);
  };
  const machines = config.nodes.map((node): Machine => {
    const nodeWithRole = withRole(config, node);
    const image = imageOf(nodeWithRole, schematics);
    const ownFields = ownFieldsOf(nodeWithRole, image);
    const pieces = patchesOf(nodeWithRole).map(patchPiece);
    return { name: node.hostname, ownFields, pieces, image: whole };
  });
  const version = /\$\{|ENC\[/.test(config.talosVersion ?? "") ? undefined : config.talosVersion;
  const subject = subjectOfMachines(machines, version, (config.patches ?? []).map(patchPiece));
  subject.pieces.set("talosVersion", whole);
  return {
    ...subject,
    spec: { ...subject.spec, ...factoryOf(config.imageFactory) },
    isCluster: true,
  };
}

/**
 * A template in which each line with only an action (`{{- if … }}`) is empty, so that the template's YAML keys can be
 * found. All other lines keep their numbers.
 */
const withoutActions = (text: string): string =>
  text
    .split("\n")
    .map((line) => (/^\{\{.*\}\}$/.test(line.trim()) ? "" : line))
    .join("\n");

function ownFieldsOf(
  node: Talconfig["nodes"][number],
  image: ReturnType<typeof imageOf>,
): Partial<MachineSpec> {
  const loadsNvidiaModules = (node.kernelModules ?? []).some(({ name }) => /^nvidia/.test(name));
  const hasGpu =
    image.nvidia === true ||
    loadsNvidiaModules ||
    (node.patches ?? []).some((text) => /^[ \t]*(?:-[ \t]*)?name:[ \t]*nvidia/m.test(text));
  const platform = node.machineSpec?.mode ?? image.platform ?? "metal";
  const taints = Object.fromEntries(
    Object.entries(node.nodeTaints ?? {}).map(([key, text]) => [key, taintText(text)]),
  );
  return {
    role: node.controlPlane ? "controlplane" : "worker",
    gpus: hasGpu ? [gpu] : [],
    extensions: image.listed ?? [],
    // An argument with the platform that the image already has does no harm, so it gets no finding.
    kernelArgs: image.kernelArgs.filter((arg) => arg !== `talos.platform=${platform}`),
    ...filled({
      secureBoot: node.machineSpec?.secureboot || image.secureBoot ? true : undefined,
      taints,
    }),
  };
}

/** One subject for each release of an NVIDIA chart that the files describe. */
function subjectsOfCharts(
  files: readonly OutsideFile[],
  reportFile: (file: string, problem: string) => void,
): Subject[] {
  const texts = new Map(files.map(({ name, text }) => [name, text]));
  // Values of any chart have keys such as `image` and `resources`, so only the name of a values file shows its chart.
  return releasesIn(files)
    .releases.filter(({ by, place }) => by !== "values" || /nvidia|gpu-operator/i.test(place.file))
    .map((release): Subject => {
      const { chart, version, versionPlace, namespace, values, place, places, missing } = release;
      // The text of a Secret is not available. A missing chart repository needs no finding: it has no values, and a
      // pull request may contain only the release.
      for (const missingObject of missing.filter(
        (object) => object.kind !== "Secret" && !isChartSource(object),
      ))
        reportFile(
          place.file,
          `refers to the ${missingObject.kind} ${missingObject.name}, which is in none of the given files, so its content is not checked`,
        );
      const pieceOf = (file: string): Piece => ({ file, line: 1, text: texts.get(file) ?? "" });
      const holders = [...new Set(Object.values(places).map(({ file }) => file))];
      return {
        spec: {
          machines: madeUp,
          external: {
            read: {
              kind: gpuProviderOfChart(chart).field,
              values,
              ...defined({ version, namespace }),
              missing,
              places: Object.fromEntries(
                Object.entries(places).map(([valuePath, { file, line }]) => [
                  valuePath,
                  `${file}:${line}`,
                ]),
              ),
            },
          },
        },
        pieces: new Map([
          ["external", pieceOf(place.file)],
          ...(versionPlace ? [["external.version", { ...versionPlace, text: "" }] as const] : []),
          ...holders.map((file, index) => [`external.files[${index}]`, pieceOf(file)] as const),
        ]),
        about: /^external\b/,
      };
    });
}

const subjectOfPart = ({ pod, findings }: GpuPart, piece: Piece): Subject => ({
  spec: {
    machines: madeUp,
    ...exposure(undefined),
    ...(pod ? { workloads: { pods: { pod } } } : {}),
  },
  pieces: new Map([["workloads", piece]]),
  about: /^workloads\./,
  findings: (talosVersion) =>
    findings(talosVersion).map((finding) => ({ field: "workloads.pods.pod", ...finding })),
});

/** A file's path in the form for findings: relative if the file is below the working folder, else absolute. */
export function shortName(file: string): string {
  const relative = path.relative(process.cwd(), file);
  return relative.startsWith("..") ? path.resolve(file) : relative;
}
