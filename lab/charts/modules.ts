import * as fs from "node:fs/promises";
import * as path from "node:path";
import { stamp } from "../../generate/facts/record-operator";
import { copyFolder, moduleFolder } from "../tools/builders/module";

/** A chart inside a Go module, which the chart's project tags and the Go proxy serves. */
export interface ChartModule {
  module: string;
  /** With its `v`. */
  version: string;
  folder: string;
}

/** Folder with the go.sum that has the modules' checksums. */
const pinsFolder = path.join(__dirname, "modules");

/**
 * Folder of a chart in its Go module: Go's own cache, which `go mod download` fills and compares with go.sum. Copy it
 * before you change anything.
 *
 * @throws Error if Go is missing, the Go proxy cannot be reached, or the module differs from go.sum.
 */
export async function moduleChart({ module, version, folder }: ChartModule): Promise<string> {
  const sums = await fs.readFile(path.join(pinsFolder, "go.sum"), "utf8");
  if (!sums.split("\n").some((line) => line.startsWith(`${module} ${version} `)))
    throw new Error(
      `${module}@${version}: lab/charts/modules/go.sum lacks this module, so the lab could not notice a changed module; add the module's line`,
    );
  const source = await moduleFolder(`${module} ${version}`, pinsFolder, process.env).catch(
    (error: Error) => {
      throw new Error(
        `${error.message}; the lab installs the chart that is in this module; ` +
          "repair the connection to the Go proxy (`go env GOPROXY`) or install Go, and run again",
        { cause: error },
      );
    },
  );
  return path.join(source, folder);
}

/**
 * Makes a folder under a temporary name and renames it, so no reader sees an incomplete one. If two processes make it,
 * one of them wins.
 */
export async function createFolderAtomically(
  folder: string,
  make: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = await fs.mkdtemp(path.join(path.dirname(folder), `.${path.basename(folder)}.`));
  try {
    await make(draft);
    await fs.rename(draft, folder);
  } catch (error) {
    await fs.rm(draft, { recursive: true, force: true });
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOTEMPTY" && code !== "EEXIST") throw error;
  }
}

/** Copies a chart, with a release written into it. */
export async function stampedCopy(
  source: string,
  target: string,
  version: string,
  appVersion: string,
): Promise<void> {
  await copyFolder(source, target);
  stamp(target, version, appVersion);
}
