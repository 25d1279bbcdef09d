import * as fs from "node:fs/promises";
import * as path from "node:path";
import * as semver from "semver";
import { ofBranch, ofVllm } from "../../components/recipe/facts/data/cuda.json";
import { charts } from "../../components/recipe/facts/data/charts";
import { workloads } from "../../components/recipe/facts/data/images.json";
import { tablesFolder } from "./tables";
import type { ChartName } from "../../components/recipe/facts/chart";
import { compareDotted } from "../../components/recipe/facts/version";
import { isServed, onGitHub, onPyPi, type Published } from "./registries";

/** A server with its default image in a table. */
interface Server {
  name: string;
  /** File of the table. */
  file: "cuda.json" | "images.json";
  newest: () => Promise<Published>;
  /** Its image for a release. */
  image: (version: string) => string;
  /** Release that the table has. */
  tableVersion: string;
  /** The table's text with a new release. */
  renewText: (text: string, published: Published) => string;
}

const tagOf = (image: string): string => image.replace(/^.*:v?/, "");

/** Renews a workload's image and its month in the text of images.json. */
const inImages =
  (key: "ollama" | "litellm", image: (version: string) => string) =>
  (text: string, { version, month }: Published): string =>
    text
      .replace(`"${key}": "${workloads[key]}"`, `"${key}": "${image(version)}"`)
      .replace(new RegExp(`("${key}": )"\\d{4}-\\d\\d"`), `$1"${month}"`);

const newestVllm = ofVllm[0]!;
const ollama = (version: string): string => `ollama/ollama:${version}`;
const litellm = (version: string): string => `ghcr.io/berriai/litellm:v${version}`;

const servers: Server[] = [
  {
    name: "vLLM",
    file: "cuda.json",
    newest: () => onPyPi("vllm"),
    image: (version) => `vllm/vllm-openai:v${version}`,
    tableVersion: newestVllm.image.replace(/^v/, ""),
    renewText: (text, { version, month }) =>
      text.replace(
        `"image": "${newestVllm.image}", "released": "${newestVllm.released}"`,
        `"image": "v${version}", "released": "${month}"`,
      ),
  },
  {
    name: "LiteLLM",
    file: "images.json",
    newest: () => onPyPi("litellm"),
    image: litellm,
    tableVersion: tagOf(workloads.litellm),
    renewText: inImages("litellm", litellm),
  },
  {
    name: "Ollama",
    file: "images.json",
    newest: () => onGitHub("ollama/ollama"),
    image: ollama,
    tableVersion: tagOf(workloads.ollama),
    renewText: inImages("ollama", ollama),
  },
];

/**
 * Renews the default images of servers for which a newer release is published and its image is served. Returns a line
 * for each. If a registry does not answer, the image stays, and its line says why.
 *
 * @param folder Folder of the tables.
 */
export const renewImages = (folder = tablesFolder): Promise<string[]> =>
  inTurn(
    servers,
    ({ name }) => name,
    async ({ name, file, newest, image, tableVersion, renewText }) => {
      const published = await newest();
      const { version } = published;
      if (!semver.valid(version) || !semver.gt(version, tableVersion)) return undefined;
      if (!(await isServed(image(version))))
        return `${name} ${version}: is published, but ${image(version)} is not served; left as it is`;
      const table = path.join(folder, file);
      const previousText = await fs.readFile(table, "utf8");
      const renewedText = renewText(previousText, published);
      if (renewedText === previousText) throw new Error(`${file} has no line of it to renew`);
      await fs.writeFile(table, renewedText);
      return `${name}: ${tableVersion} → ${version} (${published.month})`;
    },
  );

/** Repositories of the charts whose values are in the tables. */
const chartRepositories: Record<ChartName, string> = {
  "gpu-operator": "NVIDIA/gpu-operator",
  "nvidia-device-plugin": "NVIDIA/k8s-device-plugin",
  "dra-driver-nvidia-gpu": "kubernetes-sigs/dra-driver-nvidia-gpu",
  lws: "kubernetes-sigs/lws",
};

/** Lists releases of charts and of CUDA that are newer than the tables. A person must read their changes. */
export async function newerThanTables(): Promise<string[]> {
  const chartLines = await inTurn(
    Object.entries(chartRepositories),
    ([chart]) => chart,
    async ([chart, repository]) => {
      const { version } = await onGitHub(repository);
      const newest = charts.findLast((row) => row.chart === chart)!.version;
      const isNewer = semver.valid(version) !== null && semver.gt(version, newest);
      return isNewer
        ? `${chart} ${version}: the tables end at ${newest}; read its values ("A chart's release" in CONTRIBUTING.md)`
        : undefined;
    },
  );
  const cudaLines = await inTurn(
    ["CUDA"],
    (name) => name,
    async () => {
      const { version } = await onPyPi("nvidia-cuda-runtime");
      const minor = version.split(".").slice(0, 2).join(".");
      const newest = Object.values(ofBranch).sort(compareDotted).at(-1)!;
      return compareDotted(minor, newest) > 0
        ? `CUDA ${minor}: the table of driver branches ends at ${newest}; its release notes name the driver (cuda.json)`
        : undefined;
    },
  );
  return [...chartLines, ...cudaLines];
}

/**
 * Results of several renewals, which run one after the other: two must not write a table at once. A failure becomes a
 * line, and the others still run.
 */
export async function inTurn<Item>(
  items: readonly Item[],
  nameOf: (item: Item) => string,
  renewItem: (item: Item) => Promise<string | undefined>,
): Promise<string[]> {
  const lines: string[] = [];
  for (const item of items) {
    const line = await renewItem(item).catch(
      (error: unknown) => `${nameOf(item)}: left as it is: ${(error as Error).message}`,
    );
    if (line !== undefined) lines.push(line);
  }
  return lines;
}
