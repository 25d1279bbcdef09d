import * as fs from "node:fs";
import * as path from "node:path";
import { boundedYaml } from "../components/recipe/rules/yaml";

/**
 * Names of a project's file, in the order in which Pulumi tries them (pulumi/pulumi v3.259.0, sdk/go/common/encoding,
 * Exts).
 */
const projectFiles = ["Pulumi.yaml", "Pulumi.yml", "Pulumi.json"];

/** The parts of a Pulumi project that lead to its stacks. */
export interface Project {
  /** Path of its file, absolute. */
  file: string;
  /** Its name; undefined if the file has none, which Pulumi refuses. */
  name: string | undefined;
  /** Folder of its stack files, absolute. */
  stackFolder: string;
  /** Address of its backend. */
  backend: string | undefined;
}

/**
 * The project of the nearest project file, in the folder or above. The stack files are next to the project file, or in
 * the folder that the project file names as `stackConfigDir`, formerly `config` (pulumi/pulumi v3.259.0,
 * sdk/go/common/workspace, ProjectStackPath).
 *
 * @param folder the user's current folder.
 * @returns undefined outside of a project, or if the project's file cannot be read, which Pulumi reports.
 */
export function projectAbove(folder: string): Project | undefined {
  const file = projectFileAbove(path.resolve(folder));
  if (file === undefined) return undefined;
  try {
    const project = boundedYaml(fs.readFileSync(file, "utf8")) as Record<string, unknown>;
    const text = (value: unknown): string | undefined =>
      typeof value === "string" ? value : undefined;
    const folder = text(project["stackConfigDir"]) ?? text(project["config"]) ?? "";
    return {
      file,
      name: text(project["name"]),
      stackFolder: path.join(path.dirname(file), folder),
      backend: text((project["backend"] as { url?: unknown } | undefined)?.url),
    };
  } catch {
    return undefined;
  }
}

/**
 * The folder with the stack files of the user's project, as a path relative to the user's folder; undefined outside of
 * a project.
 */
export function stackFolderOf(folder: string): string | undefined {
  const project = projectAbove(folder);
  return project && (path.relative(folder, project.stackFolder) || ".");
}

function projectFileAbove(folder: string): string | undefined {
  const file = projectFiles
    .map((name) => path.join(folder, name))
    .find((candidate) => fs.existsSync(candidate));
  const parent = path.dirname(folder);
  return file !== undefined || parent === folder ? file : projectFileAbove(parent);
}
