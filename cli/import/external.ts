import * as fs from "node:fs";
import * as path from "node:path";
import { boundedText, isBelow, projectRootOf } from "../../components/lookups/bounded-file";
import { gpuProviderOfChart } from "../../components/recipe/facts/gpu-provider";
import type { OutsideFile } from "../../components/recipe/external/document";
import { isChartSource, readExternal } from "../../components/recipe/external/external";
import { releasesIn } from "../../components/recipe/external/read";
import { defined } from "../../components/recipe/mapping";
import type { ClusterSpec, ExternalSpec } from "../../components/recipe/index";
import { shareCluster } from "../clusters";
import { yamlFiles } from "../yaml-files";
import { namesMachines } from "./source";
import type { FindingText, FieldFinding } from "../../components/recipe/rules/finding";

/** Matches objects that a release uses and that do not install the release themselves. */
const besides = /^kind: *["']?(OCIRepository|HelmRepository|HelmChart|ConfigMap)\b/m;

/**
 * The stack's field `external` for an NVIDIA chart that Flux or Argo CD installs from the repository of the imported
 * file. If the repository has several such releases, the field has only the kind of GPU provider, and a note asks which
 * release the cluster uses.
 *
 * @param file the imported file.
 * @param folder of the stack file, to which paths are relative.
 */
export function outsideOf(
  file: string,
  folder: string,
): { external?: ExternalSpec; notes: FieldFinding[] } {
  const texts = textsOf(rootOf(path.resolve(path.dirname(file))));
  const clusters = [...texts].flatMap(([name, text]) =>
    namesMachines(text) ? [{ folder: path.dirname(name) }] : [],
  );
  const owners = [...texts].flatMap(([name, text]) => {
    // Files for other clusters of the repository do not concern this one.
    if (!ofNvidia.test(text) || !shareCluster(path.resolve(file), name, clusters)) return [];
    // A patch of kustomize without its base installs nothing.
    const release = releasesIn([{ name, text }]).releases.find(
      ({ by, missing }) => by !== "values" && missing.every(({ kind }) => kind !== "HelmRelease"),
    );
    return release === undefined ? [] : [{ name, text, chart: release.chart }];
  });
  const [owner] = owners;
  const relativePaths = (names: string[]): string[] =>
    names.map((name) => path.relative(folder, name));
  const unread = [...texts].flatMap(([name, text]) => unreadNotes(name, text, folder));
  if (owner === undefined) return { notes: unread };
  if (owners.length > 1) {
    const several: FindingText = {
      problem: `${relativePaths(owners.map(({ name }) => name)).join(", ")} install several of NVIDIA's charts, but do not show which of these charts the cluster uses`,
      why: "if the stack also installed a GPU provider, two providers would allocate the same cards",
      remedy:
        "list this cluster's files under external.files, and delete the other fields of external",
    };
    // If a repository has the operator and the DRA driver, the driver allocates the cards. Cards are never allocated
    // twice, since the stack installs nothing.
    const { chart } =
      owners.find((candidate) => candidate.chart === "dra-driver-nvidia-gpu") ?? owner;
    return {
      external: { kind: gpuProviderOfChart(chart).field },
      notes: [...unread, { field: "external", ...several }],
    };
  }
  const ownerFolder = path.dirname(owner.name);
  const filesBesideOwner = [...texts].filter(
    ([name, text]) => path.dirname(name) === ownerFolder && besides.test(text),
  );
  const filesWithNamespace = namespaceFiles(owner, texts);
  const files = [
    ...new Set([owner.name, ...filesBesideOwner.map(([name]) => name), ...filesWithNamespace]),
  ];
  const root = projectRootOf(folder);
  if (files.every((name) => isBelow(root, name)))
    return { external: { files: relativePaths(files) }, notes: unread };
  return {
    external: copyOf(files.map((name) => ({ name, text: texts.get(name) ?? "" }))),
    notes: unread,
  };
}

/** Matches objects by which Flux or Argo CD installs a release. */
const installing =
  /^kind: *["']?(?:HelmRelease|OCIRepository|HelmRepository|HelmChart|Application|ApplicationSet|List)\b/m;

/** Notes about unreadable parts of a file that may install one of NVIDIA's charts. */
function unreadNotes(name: string, text: string, folder: string): FieldFinding[] {
  if (!ofNvidia.test(text) || !installing.test(text)) return [];
  return releasesIn([{ name: path.relative(folder, name), text }]).flaws.map(
    ({ file, line, problem }) => ({
      field: "external",
      problem: `${file}:${line} ${problem}`,
      why: "if this file installs a GPU provider, this stack may install a second one",
      remedy:
        "repair the file and import again. Or replace gpuOperator or devicePlugin in this stack by external",
    }),
  );
}

/** Note that the stack will install a GPU provider, since no file was found that installs one. */
export function installNote({
  gpuOperator,
  devicePlugin,
}: Pick<ClusterSpec, "gpuOperator" | "devicePlugin">): FieldFinding[] {
  const [field, release] =
    gpuOperator === undefined ? ["devicePlugin", devicePlugin] : ["gpuOperator", gpuOperator];
  if (release === undefined) return [];
  const chartText = field === "gpuOperator" ? "GPU Operator" : "NVIDIA's device plugin";
  return [
    {
      field,
      problem: `no file here installs a GPU provider, so this stack will install ${chartText} ${release.version}`,
      why: "two GPU providers would allocate the same cards",
      remedy: `if Flux, Argo CD or \`helm install\` already installs a GPU provider, write external instead of ${field}`,
    },
  ];
}

/** The file that sets the namespace of a release, if the release's own file does not. */
function namespaceFiles(owner: OutsideFile, texts: Map<string, string>): string[] {
  const files = [...texts]
    .map(([name, text]) => ({ name, text }))
    .filter(({ text }) => saysNamespace.test(text));
  const { releases } = releasesIn([owner, ...files.filter(({ name }) => name !== owner.name)]);
  const place = releases.find((release) => release.place.file === owner.name)?.namespacePlace;
  return place === undefined || place.file === owner.name ? [] : [place.file];
}

/** Objects that may set the namespace of other files: a Flux Kustomization, or a kustomization. */
const saysNamespace = /^(?:kind: *["']?Kustomization\b|namespace:|resources:)/m;

/**
 * The content of files, for a stack whose file is in another repository and cannot refer to these files. If some values
 * are in files that were not given, all values are left out: otherwise the checks would report values that the missing
 * files set.
 */
function copyOf(files: OutsideFile[]): ExternalSpec {
  const { kind, version, namespace, values, missing = [] } = readExternal(files);
  const hasOnlyKnownSources = missing.every(isChartSource);
  return defined({ kind, version, namespace, values: hasOnlyKnownSources ? values : undefined });
}

/** Folder of the repository, or the folder itself outside of a repository. */
function rootOf(folder: string): string {
  for (let candidate = folder; ; candidate = path.dirname(candidate)) {
    if (fs.existsSync(path.join(candidate, ".git"))) return candidate;
    if (candidate === path.dirname(candidate)) return folder;
  }
}

/** Folders whose files describe no running cluster. */
const passedOver = /^(?:\.|(?:node_modules|tests?|examples?|fixtures|_?archived?)$)/;

/** Matches the names of NVIDIA's charts, including the former name of the DRA driver's chart. */
const ofNvidia = /gpu-operator|device-plugin|dra-driver/;

/**
 * YAML files of a repository that mention NVIDIA's charts, describe a cluster's machines, or set the namespace of other
 * files; by name.
 */
function textsOf(root: string): Map<string, string> {
  const files = yamlFiles(root, {
    skippedFolders: passedOver,
    maxFiles: 10_000,
    maxBytes: 256 * 1024,
  });
  const texts = files.map((file): [string, string] => [file, boundedText(file)]);
  return new Map(
    texts.filter(
      ([, text]) => ofNvidia.test(text) || saysNamespace.test(text) || namesMachines(text),
    ),
  );
}
