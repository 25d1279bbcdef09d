import { createHash } from "node:crypto";
import * as fs from "node:fs/promises";
import * as path from "node:path";
import { cacheFolder } from "../tools/cache";
import { copyFolder } from "../tools/ways/changed-module";
import { moduleFolder } from "../tools/ways/module";

/** A chart inside a Go module: what its project tags, and the Go proxy serves. */
export interface ChartModule {
  module: string;
  /** With its `v`. */
  version: string;
  folder: string;
}

/** Folder whose go.sum says what the modules must be. */
const pins = path.join(__dirname, "modules");

/**
 * Brings a chart out of its Go module: from the lab's cache, where it is beside the lab's tools, else by `go mod download`,
 * which compares the module with go.sum. The folder is shared: copy it before you change anything.
 *
 * @throws when there is no Go, no way to the Go proxy, or another module than the one that go.sum names.
 */
export async function moduleChart(chart: ChartModule, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const sum = await pinned(chart);
  const key = createHash("sha256").update(`${sum} ${chart.folder}`).digest("hex").slice(0, 16);
  const cached = path.join(cacheFolder(env), `chart-${path.basename(chart.folder)}-${chart.version}-${key}`);
  if (await exists(cached)) return cached;
  const source = await moduleFolder(`${chart.module} ${chart.version}`, pins, env).catch((error: Error) => {
    throw new Error(
      `${error.message}; the lab installs the chart that is in this module; ` +
        "mend the way to the Go proxy (`go env GOPROXY`) or install Go, and run again",
      { cause: error },
    );
  });
  await fs.mkdir(path.dirname(cached), { recursive: true });
  await placeWhole(cached, (draft) => copyFolder(path.join(source, chart.folder), draft));
  return cached;
}

/** Makes a folder beside its place and renames it: nobody sees half of it, and of two makers one wins. */
export async function placeWhole(folder: string, make: (draft: string) => Promise<void>): Promise<void> {
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

async function pinned({ module, version }: ChartModule): Promise<string> {
  const lines = (await fs.readFile(path.join(pins, "go.sum"), "utf8")).split("\n");
  const line = lines.find((each) => each.startsWith(`${module} ${version} `));
  if (line === undefined)
    throw new Error(
      `${module}@${version}: lab/charts/modules/go.sum does not name it, so nobody could tell a wrong one; add its line`,
    );
  return line.split(" ")[2] ?? "";
}

const exists = (file: string): Promise<boolean> =>
  fs.access(file).then(
    () => true,
    () => false,
  );
