import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { parseAllDocuments } from "yaml";
import { chartFolder, chartVersions, type LabChart } from "../../charts";
import { builtTool } from "../built-tool";

const helm = builtTool("helm");

/** A `describe` for tests that need Helm; skipped if Helm is missing. */
export const describeWithHelm = helm ? describe : describe.skip;

/** Folder in which a test file writes its charts. */
export const chartsFolder = mkdtempSync(path.join(tmpdir(), "talos-gpu-charts-"));
afterAll(() => rmSync(chartsFolder, { recursive: true, force: true }));

/** Folder of one of the lab's charts. Default: its newest release. */
export const folderOfChart = (
  chart: LabChart,
  version = chartVersions(chart).at(-1)!,
): Promise<string> => chartFolder(chartsFolder, chart, version);

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
export function runHelm(args: string[]): Promise<{ code: number; output: string; error: string }> {
  return new Promise((resolve) =>
    execFile(
      helm!,
      args,
      { env: { HOME: chartsFolder, PATH: "" }, maxBuffer: 2 ** 25 },
      (failure, output, error) =>
        resolve({ code: failure ? Number(failure.code ?? 1) : 0, output, error }),
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
  const file = path.join(chartsFolder, `values-${Math.random()}.yaml`);
  writeFileSync(file, JSON.stringify(values));
  const chartDir = await folderOfChart(chart, version);
  const { code, output, error } = await runHelm([
    "template",
    "it",
    chartDir,
    "-n",
    namespace,
    "--include-crds",
    "-f",
    file,
  ]);
  const objects = parseAllDocuments(output).map(
    (document) => (document as { toJS(): unknown }).toJS() as Manifest | null,
  );
  return { code, error, objects: objects.filter((object) => object !== null) };
}

/** The rendered object of that kind and name. Throws if there is none. */
export const findObject = ({ objects }: Rendered, kind: string, name: string): Manifest => {
  const match = objects.find((object) => object.kind === kind && object.metadata.name === name);
  if (!match)
    throw new Error(
      `no ${kind} ${name} in ${objects.map((object) => `${object.kind} ${object.metadata.name}`).join(", ")}`,
    );
  return match;
};
