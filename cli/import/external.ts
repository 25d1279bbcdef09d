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

/** Objects that describe a release, except the one that installs it. */
const besides = /^kind: *["']?(OCIRepository|HelmRepository|HelmChart|ConfigMap)\b/m;

/**
 * NVIDIA's charts that Flux or Argo CD installs from the repository of a file, with the files that do so. With
 * several releases the cluster's is unknown, which is a note; where they are of one chart, at least that is known.
 *
 * @param file that is imported.
 * @param folder of the stack file, in which paths begin.
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
    // A patch of kustomize's alone installs nothing.
    const release = releasesIn([{ name, text }]).releases.find(
      ({ by, missing }) => by !== "values" && missing.every(({ kind }) => kind !== "HelmRelease"),
    );
    return release === undefined ? [] : [{ name, text, chart: release.chart }];
  });
  const [owner] = owners;
  const named = (names: string[]): string[] => names.map((one) => path.relative(folder, one));
  const unread = [...texts].flatMap(([name, text]) => unreadNotes(name, text, folder));
  if (owner === undefined) return { notes: unread };
  if (owners.length > 1) {
    const several: FindingText = {
      problem: `${named(owners.map(({ name }) => name)).join(", ")} install NVIDIA's charts, and the files do not say which of them the cluster has`,
      why: "a second release from the stack would hand out the same cards",
      remedy: "name the files of the cluster's under external.files, instead of the fields here",
    };
    // Next to an operator the driver gives out the cards. A stack that installs nothing gives out none twice.
    const { chart } = owners.find((one) => one.chart === "dra-driver-nvidia-gpu") ?? owner;
    return {
      external: { kind: gpuProviderOfChart(chart).field },
      notes: [...unread, { field: "external", ...several }],
    };
  }
  const there = path.dirname(owner.name);
  const beside = [...texts].filter(
    ([name, text]) => path.dirname(name) === there && besides.test(text),
  );
  const say = namespaceFiles(owner, texts);
  const files = [...new Set([owner.name, ...beside.map(([name]) => name), ...say])];
  const root = projectRootOf(folder);
  if (files.every((one) => isBelow(root, one)))
    return { external: { files: named(files) }, notes: unread };
  return {
    external: copyOf(files.map((name) => ({ name, text: texts.get(name) ?? "" }))),
    notes: unread,
  };
}

/** Objects by which a release is installed. */
const installing =
  /^kind: *["']?(?:HelmRelease|OCIRepository|HelmRepository|HelmChart|Application|ApplicationSet|List)\b/m;

/** Notes about unreadable parts of a file that may install one of NVIDIA's charts. */
function unreadNotes(name: string, text: string, folder: string): FieldFinding[] {
  if (!ofNvidia.test(text) || !installing.test(text)) return [];
  return releasesIn([{ name: path.relative(folder, name), text }]).flaws.map(
    ({ file, line, problem }) => ({
      field: "external",
      problem: `${file}:${line} ${problem}`,
      why: "it is unknown what it installs, and this stack may install the same a second time",
      remedy:
        "repair the file and import again, or write external instead of what this stack would install",
    }),
  );
}

/** That the stack would install what gives out the cards: no file was seen that does. */
export function installNote({
  gpuOperator,
  devicePlugin,
}: Pick<ClusterSpec, "gpuOperator" | "devicePlugin">): FieldFinding[] {
  const [field, release] =
    gpuOperator === undefined ? ["devicePlugin", devicePlugin] : ["gpuOperator", gpuOperator];
  if (release === undefined) return [];
  const what = field === "gpuOperator" ? "GPU Operator" : "NVIDIA's device plugin";
  return [
    {
      field,
      problem: `no file here installs what gives out the cards, so this stack will install ${what} ${release.version}`,
      why: "two of them would give out the same cards twice",
      remedy: `if Flux, Argo CD or \`helm install\` has installed one, write external instead of ${field}`,
    },
  ];
}

/** The file that sets the namespace of a release, if it is not the release's own file. */
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
 * Content of files, for a stack in a different repository: a stack names only files of its own. If their values are
 * in files that were not given, the stack has none: else the checks would complain about values that these other
 * files set.
 */
function copyOf(files: OutsideFile[]): ExternalSpec {
  const { kind, version, namespace, values, missing = [] } = readExternal(files);
  const known = missing.every(isChartSource);
  return defined({ kind, version, namespace, values: known ? values : undefined });
}

/** Folder of the repository, or the folder itself where it is in none. */
function rootOf(folder: string): string {
  for (let at = folder; ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, ".git"))) return at;
    if (at === path.dirname(at)) return folder;
  }
}

/** Folders that no cluster is made of. */
const passedOver = /^(?:\.|(?:node_modules|tests?|examples?|fixtures|_?archived?)$)/;

/** Names of NVIDIA's charts, also the former one of the DRA driver. */
const ofNvidia = /gpu-operator|device-plugin|dra-driver/;

/**
 * Its YAML files that speak of NVIDIA's charts, name a cluster's machines, or say of others which namespace they are
 * for; by name.
 */
function textsOf(root: string): Map<string, string> {
  const files = yamlFiles(root, { passedOver, most: 10_000, largest: 256 * 1024 });
  const texts = files.map((file): [string, string] => [file, boundedText(file)]);
  return new Map(
    texts.filter(
      ([, text]) => ofNvidia.test(text) || saysNamespace.test(text) || namesMachines(text),
    ),
  );
}
