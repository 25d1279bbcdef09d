import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { parseAllDocuments } from "yaml";
import { chartFolder, chartVersions, type LabChart } from "../../charts";
import { builtTool } from "../built-tool";

const helm = builtTool("helm");

/** A `describe` for tests that need Helm; skipped if Helm is missing. */
export const withHelm = helm ? describe : describe.skip;

/** Folder for a test file's charts. */
export const dir = mkdtempSync(path.join(tmpdir(), "talos-gpu-charts-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Folder of one of the lab's charts. Default: its newest release. */
export const folder = (chart: LabChart, version = chartVersions(chart).at(-1)!): Promise<string> =>
  chartFolder(dir, chart, version);

export interface Manifest {
  kind: string;
  metadata: { name: string; namespace?: string };
  [key: string]: any;
}

export interface Rendered {
  code: number;
  error: string;
  objects: Manifest[];
}

/** Runs Helm without the user's settings. */
export function run(args: string[]): Promise<{ code: number; out: string; error: string }> {
  return new Promise((resolve) =>
    execFile(
      helm!,
      args,
      { env: { HOME: dir, PATH: "" }, maxBuffer: 2 ** 25 },
      (failure, out, error) =>
        resolve({ code: failure ? Number(failure.code ?? 1) : 0, out, error }),
    ),
  );
}

/** Renders a chart with the given values. */
export async function render(
  chart: LabChart,
  version?: string,
  values: object = {},
  namespace = "gpu",
): Promise<Rendered> {
  const file = path.join(dir, `values-${Math.random()}.yaml`);
  writeFileSync(file, JSON.stringify(values));
  const chartDir = await folder(chart, version);
  const { code, out, error } = await run([
    "template",
    "it",
    chartDir,
    "-n",
    namespace,
    "--include-crds",
    "-f",
    file,
  ]);
  const objects = parseAllDocuments(out).map(
    (document) => (document as { toJS(): unknown }).toJS() as Manifest | null,
  );
  return { code, error, objects: objects.filter((object) => object !== null) };
}

/** The object of that kind and name. */
export const named = ({ objects }: Rendered, kind: string, name: string): Manifest => {
  const found = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (!found)
    throw new Error(
      `no ${kind} ${name} in ${objects.map((each) => `${each.kind} ${each.metadata.name}`).join(", ")}`,
    );
  return found;
};
