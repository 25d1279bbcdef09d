import * as fs from "node:fs";
import * as path from "node:path";
import { parse } from "yaml";

/** Pulumi's names for a project's file, in its order (pulumi/pulumi v3.259.0, sdk/go/common/encoding, Exts). */
const projectFiles = ["Pulumi.yaml", "Pulumi.yml", "Pulumi.json"];

/**
 * The folder where Pulumi keeps the stack files of a project: that of the nearest project file above, or what this file names as
 * `stackConfigDir`, which was `config` once (pulumi/pulumi v3.259.0, sdk/go/common/workspace, ProjectStackPath).
 *
 * @param from folder in which somebody works.
 * @returns its path from there; undefined outside of a project, or where the project's file cannot be read, which Pulumi tells.
 */
export function stackFolderOf(from: string): string | undefined {
  const file = projectFileAbove(path.resolve(from));
  if (file === undefined) return undefined;
  try {
    const project = parse(fs.readFileSync(file, "utf8")) as { stackConfigDir?: unknown; config?: unknown };
    const named = [project.stackConfigDir, project.config].find((value) => typeof value === "string");
    return path.relative(from, path.join(path.dirname(file), named ?? "")) || ".";
  } catch {
    return undefined;
  }
}

function projectFileAbove(folder: string): string | undefined {
  const file = projectFiles.map((name) => path.join(folder, name)).find((each) => fs.existsSync(each));
  const parent = path.dirname(folder);
  return file !== undefined || parent === folder ? file : projectFileAbove(parent);
}
