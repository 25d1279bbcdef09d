import * as fs from "node:fs";
import * as path from "node:path";
import { isBelow, projectRootOf, readTextWithin } from "../../components/lookups/bounded-file";
import { anyText, mappingAt } from "../../components/recipe/mapping";
import { yamlIn } from "../../components/recipe/rules/yaml";
import { environmentFiles, substitute, variablesOf } from "../import/substitute";

/** Names of the variables of talhelper that contain the Talos release in users' repositories. */
const variableNames = ["talosVersion", "TALOS_VERSION"];

/**
 * Finds the Talos release of the cluster to which a file without a release belongs. The search begins in the file's
 * folder and goes up through the project. The first folder with a release decides: a release in talconfig.yaml or
 * topf.yaml, else in talhelper's variables. So each cluster of a repository has its own release. Each folder is read
 * once.
 *
 * @param roots folders that the user named. A folder above them is read only if it belongs to the same project.
 */
export function releasesNear(roots: readonly string[]): (file: string) => string | undefined {
  const releaseByFolder = new Map<string, string | undefined>();
  const nearestRelease = (folder: string, top: string): string | undefined => {
    const key = JSON.stringify([folder, top]);
    if (!releaseByFolder.has(key)) {
      const isTop = folder === top || !isBelow(top, path.dirname(folder));
      releaseByFolder.set(
        key,
        releaseIn(folder, top) ?? (isTop ? undefined : nearestRelease(path.dirname(folder), top)),
      );
    }
    return releaseByFolder.get(key);
  };
  return (file) => {
    const start = path.dirname(path.resolve(file));
    const tops = [projectRootOf(start), ...roots.map((root) => path.resolve(root))].filter((top) =>
      isBelow(top, start),
    );
    // If folders contain each other, the one with the shortest path is the outermost.
    const [top = start] = tops.sort((a, b) => a.length - b.length);
    return nearestRelease(start, top);
  };
}

function releaseIn(folder: string, top: string): string | undefined {
  const textOf = (name: string): string[] => {
    const file = path.join(folder, name);
    try {
      return fs.existsSync(file) ? [readTextWithin(top, file)] : [];
    } catch {
      return [];
    }
  };
  const variables: Record<string, string> = Object.assign(
    {},
    ...environmentFiles.flatMap(textOf).map(variablesOf),
  );
  const [config] = ["talconfig.yaml", "talconfig.yml", "topf.yaml", "topf.yml"].flatMap(textOf);
  const statedVersion =
    config === undefined
      ? undefined
      : mappingAt(yamlIn(substitute(config, variables)))["talosVersion"];
  // The output may contain nothing else of a file that the user did not name.
  return [statedVersion, ...variableNames.map((name) => variables[name])]
    .map((text) => /^v?(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)$/.exec(anyText(text))?.[1])
    .flatMap((release) => (release === undefined ? [] : [`v${release}`]))[0];
}
