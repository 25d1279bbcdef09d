import * as fs from "node:fs";
import * as path from "node:path";
import { isBelow, projectRootOf } from "../../components/found/bounded-file";
import { textOfFile } from "../../components/found/text-file";
import { wayOfChart } from "../../components/recipe/facts/way";
import type { OutsideFile } from "../../components/recipe/outside/document";
import { isChartSource, readExternal } from "../../components/recipe/outside/external";
import { readOutside } from "../../components/recipe/outside/read";
import { defined } from "../../components/recipe/mapping";
import type { ExternalSpec } from "../../components/recipe/index";
import { yamlFiles } from "../yaml-files";
import { faultOf, type Problem as Note } from "../../components/recipe/rules/fault";
import notes from "./texts.json";

/** Objects that say something of a release beside the one that installs it. */
const besides = /^kind: *["']?(OCIRepository|HelmRepository|HelmChart|ConfigMap)\b/m;

/**
 * What Flux or Argo CD installs of NVIDIA's in the repository of a file, by the files that do. Of several releases nobody can tell the
 * cluster's, which is a note; where they are of one chart, at least that is known.
 *
 * @param file that is imported.
 * @param folder of the stack file, in which paths begin.
 */
export function outsideOf(file: string, folder: string): { external?: ExternalSpec; notes: Note[] } {
  const texts = textsOf(rootOf(path.resolve(path.dirname(file))));
  const owners = [...texts].flatMap(([name, text]) => {
    // A patch of kustomize's alone installs nothing.
    const release = readOutside([{ name, text }]).releases.find(
      ({ by, missing }) => by !== "values" && missing.every(({ kind }) => kind !== "HelmRelease"),
    );
    return release === undefined ? [] : [{ name, text, chart: release.chart }];
  });
  const [owner] = owners;
  if (owner === undefined) return { notes: [] };
  const named = (names: string[]): string[] => names.map((one) => path.relative(folder, one));
  if (owners.length > 1) {
    const several = faultOf(notes.owners, { owners: named(owners.map(({ name }) => name)) });
    const one = owners.every(({ chart }) => chart === owner.chart);
    const kind = wayOfChart(owner.chart).field;
    return { ...(one ? { external: { kind } } : {}), notes: [{ field: "external", ...several }] };
  }
  const there = path.dirname(owner.name);
  const beside = [...texts].filter(([name, text]) => path.dirname(name) === there && besides.test(text));
  const files = [...new Set([owner.name, ...beside.map(([name]) => name)])];
  const root = projectRootOf(folder);
  if (files.every((one) => isBelow(root, one))) return { external: { files: named(files) }, notes: [] };
  return { external: copyOf(files.map((name) => ({ name, text: texts.get(name) ?? "" }))), notes: [] };
}

/**
 * What files say, for a stack of another repository: a stack names only files of its own. Where values of them are in files that nobody
 * gave, the stack has none: it would be judged by what these seem to lack.
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

/** Its YAML files that speak of NVIDIA's charts, by name. */
function textsOf(root: string): Map<string, string> {
  const files = yamlFiles(root, { passedOver, most: 10_000, largest: 256 * 1024 });
  const texts = files.map((file): [string, string] => [file, textOfFile(file)]);
  return new Map(texts.filter(([, text]) => /gpu-operator|device-plugin/.test(text)));
}
