import * as fs from "node:fs";
import * as path from "node:path";
import { isBelow, projectRootOf, textBelow } from "../../components/lookups/bounded-file";
import { anyText, mappingAt } from "../../components/recipe/mapping";
import { yamlIn } from "../../components/recipe/rules/yaml";
import { environmentFiles, substitute, variablesOf } from "../import/substitute";

/** Names under which repositories keep the release among talhelper's variables. */
const variableNames = ["talosVersion", "TALOS_VERSION"];

/**
 * Tells the Talos release of the cluster that a file without one belongs to: that of the nearest talconfig.yaml or topf.yaml, else of the variables of talhelper, in
 * its folder or further up in the project. So two clusters of one repository keep their own. Each folder is read once.
 *
 * @param roots folders that were given: nothing above them is read, unless it is of the same project.
 */
export function releasesNear(roots: readonly string[]): (file: string) => string | undefined {
  const known = new Map<string, string | undefined>();
  const above = (folder: string, top: string): string | undefined => {
    const key = JSON.stringify([folder, top]);
    if (!known.has(key)) {
      const isTop = folder === top || !isBelow(top, path.dirname(folder));
      known.set(
        key,
        releaseIn(folder, top) ?? (isTop ? undefined : above(path.dirname(folder), top)),
      );
    }
    return known.get(key);
  };
  return (file) => {
    const start = path.dirname(path.resolve(file));
    const tops = [projectRootOf(start), ...roots.map((root) => path.resolve(root))].filter((top) =>
      isBelow(top, start),
    );
    // Of folders above one another the shortest path is the highest.
    const [top = start] = tops.sort((one, other) => one.length - other.length);
    return above(start, top);
  };
}

function releaseIn(folder: string, top: string): string | undefined {
  const textOf = (name: string): string[] => {
    const file = path.join(folder, name);
    try {
      return fs.existsSync(file) ? [textBelow(top, file)] : [];
    } catch {
      return [];
    }
  };
  const variables: Record<string, string> = Object.assign(
    {},
    ...environmentFiles.flatMap(textOf).map(variablesOf),
  );
  const [config] = ["talconfig.yaml", "talconfig.yml", "topf.yaml", "topf.yml"].flatMap(textOf);
  const said =
    config === undefined
      ? undefined
      : mappingAt(yamlIn(substitute(config, variables)))["talosVersion"];
  // Nothing else of a file that was not given may be in what is written.
  return [said, ...variableNames.map((name) => variables[name])]
    .map((text) => /^v?(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)$/.exec(anyText(text))?.[1])
    .flatMap((release) => (release === undefined ? [] : [`v${release}`]))[0];
}
