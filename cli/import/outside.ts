import * as fs from "node:fs";
import * as path from "node:path";
import { readOutside } from "../../components/recipe/outside/index";
import type { ExternalSpec } from "../../components/recipe/index";

/** The most files of a repository that are read, and the largest, in bytes. */
const [most, largest] = [10_000, 256 * 1024];

/** Objects that say something of a release beside the one that installs it. */
const besides = /^kind: *["']?(OCIRepository|HelmRepository|HelmChart|ConfigMap)\b/m;

/**
 * What Flux or Argo CD installs of NVIDIA's in the repository of a file, by the files that do; undefined where nothing does, or more than
 * one, of which nobody can tell the cluster's.
 *
 * @param file that is imported.
 * @param folder of the stack file, in which paths begin.
 */
export function outsideOf(file: string, folder: string): ExternalSpec | undefined {
  const texts = textsOf(rootOf(path.resolve(path.dirname(file))));
  const owners = [...texts].filter(([name, text]) =>
    readOutside([{ name, text }]).releases.some(({ by }) => by === "Flux" || by === "Argo CD"),
  );
  const [owner] = owners;
  if (owner === undefined || owners.length > 1) return undefined;
  const there = path.dirname(owner[0]);
  const beside = [...texts].filter(([name, text]) => path.dirname(name) === there && besides.test(text));
  const files = [...new Map([owner, ...beside]).keys()];
  return { files: files.map((one) => path.relative(folder, one)) };
}

/** Folder of the repository, or the folder itself where it is in none. */
function rootOf(folder: string): string {
  for (let at = folder; ; at = path.dirname(at)) {
    if (fs.existsSync(path.join(at, ".git"))) return at;
    if (at === path.dirname(at)) return folder;
  }
}

/** Its YAML files that speak of NVIDIA's charts. */
function textsOf(root: string): Map<string, string> {
  const texts = new Map<string, string>();
  const folders = [root];
  let read = 0;
  for (let folder = folders.pop(); folder !== undefined && read < most; folder = folders.pop()) {
    for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      if (entry.isDirectory() && !/^(?:\.|node_modules$)/.test(entry.name)) folders.push(file);
      if (!entry.isFile() || !/\.ya?ml$/.test(entry.name) || fs.statSync(file).size > largest) continue;
      read++;
      const text = fs.readFileSync(file, "utf8");
      if (/gpu-operator|device-plugin/.test(text)) texts.set(file, text);
    }
  }
  return texts;
}
