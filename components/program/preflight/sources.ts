import * as semver from "semver";
import type { ChartName } from "../../recipe/facts/chart";
import { gpuProviderOfChart } from "../../recipe/facts/gpu-provider";
import type { FieldFinding } from "../../clients/failure";
import { boundedValues } from "../../recipe/rules/yaml";
import type { Report } from "../progress";
import type { PreflightTask } from "./task";
import { imageParts, namesSchematic } from "./image-parts";
import { type Places, silence, type Web, wordsOf } from "./web";

/** Findings about the chart's repository, as far as this computer can reach it. */
export async function askForChart(
  { chart }: PreflightTask,
  web: Web,
  places: Places,
  report: Report,
): Promise<FieldFinding[]> {
  if (chart === undefined) return [];
  const { name, version, repository } = chart;
  const { field } = gpuProviderOfChart(name as ChartName);
  const base = places.charts(repository);
  if (base === undefined || !/^https?:/.test(base)) {
    report(`chart ${name} ${version}: not asked for`);
    return [];
  }
  const finding = (problem: string, remedy: string): FieldFinding[] => [
    {
      field,
      problem,
      why: "machines would reboot first, and their GPU provider could not be installed then",
      remedy: `${remedy}; where charts come from a mirror, set TALOS_GPU_CHARTS to its address, or to none, which asks no server`,
    },
  ];

  const index = await web.get(`${base}/index.yaml`);
  const silent = silence(index);
  if (silent !== undefined)
    return finding(
      `the chart repository ${repository} cannot be reached: ${silent}`,
      "run again when it can",
    );
  if (!("status" in index) || index.status !== 200) {
    report(`chart ${name} ${version}: not known whether it is there (${wordsOf(index)})`);
    return [];
  }
  const releases = chartReleases(index.body, name);
  if (releases === undefined) {
    report(`chart ${name} ${version}: the index of ${repository} cannot be read`);
    return [];
  }
  const release = releases.find((one) => isSame(one.version, version));
  if (release === undefined) {
    const newest = releases.slice(0, 3).map((one) => one.version);
    return finding(
      `${repository} has no chart ${name} ${version}${newest.length === 0 ? "" : `; it has ${newest.join(", ")} and others`}`,
      `set ${field}.version to a release that it has`,
    );
  }
  const archive = release.urls?.[0];
  if (archive === undefined) return [];
  const there = await web.get(new URL(archive, `${base}/`).href, { method: "HEAD" });
  if ("status" in there && (there.status === 404 || there.status === 410))
    return finding(
      `${repository} names chart ${name} ${version}, and does not have its archive (${there.status})`,
      "run again when it is back",
    );
  report(`chart ${name} ${version}: there`);
  return [];
}

interface Release {
  version: string;
  urls?: string[];
}

/**
 * Releases of a chart in a repository's index (helm.sh/docs/topics/chart_repository); undefined where it is none, or
 * cannot be read.
 */
function chartReleases(index: string, chart: string): Release[] | undefined {
  try {
    const [value] = boundedValues(entryIn(index, chart) ?? index);
    const { entries } = value as { entries?: Record<string, Release[]> };
    return entries === undefined ? undefined : (entries[chart] ?? []);
  } catch {
    return undefined;
  }
}

/**
 * An index with one chart's entry alone, since a repository of thousands of charts is more than is read. Undefined
 * where the text is not written as Helm writes it, or lacks the chart: lists begin below their key, with the same
 * indentation.
 */
function entryIn(index: string, chart: string): string | undefined {
  const lines = index.split("\n");
  const entries = lines.findIndex((line) => /^entries:\s*$/.test(line));
  const begin = lines.findIndex((line, at) => at > entries && line.trimEnd() === `  ${chart}:`);
  if (entries < 0 || begin < 0) return undefined;
  const end = lines.findIndex((line, at) => at > begin && /^ {0,2}[^\s-]/.test(line));
  return ["entries:", ...lines.slice(begin, end < 0 ? undefined : end)].join("\n");
}

/** Helm takes `v25.10.1` and `25.10.1` for the same release. */
const isSame = (one: string, other: string): boolean =>
  one === other ||
  (semver.valid(one) !== null && semver.valid(other) !== null && semver.eq(one, other));

/**
 * Milliseconds for a Factory to make an image: the first who asks waits until it is built (image-factory,
 * internal/frontend/http/registry.go).
 */
const BUILT = 120_000;

/** Forms of an image's manifest. */
const accept = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/**
 * Whether a refusal is a Factory's own: its images have a schematic's ID in their names, and it says what it lacks. A
 * server that does not know the path says the status alone, e.g. `404 page not found` (Go, net/http, NotFound).
 */
const isWordOfFactory = (name: string, body: string): boolean =>
  namesSchematic(name) &&
  /^[^{<]/.test(body) &&
  !/^(\d{3} )?(page )?(not found|bad request)\.?\s*$/i.test(body);

/**
 * Whether the Image Factory can make the installer images. It says here, and not before, that an extension is not
 * there for a release. Only its clear no counts: machines may pull through a mirror that has what this computer
 * cannot see, and each one pulls its image before it is drained.
 */
export async function askForInstallers(
  images: readonly string[],
  web: Web,
  places: Places,
  report: Report,
): Promise<FieldFinding[]> {
  const asked = images.map(async (image): Promise<FieldFinding[]> => {
    const parts = imageParts(image);
    if (parts === undefined) return [];
    const { host, name, tag } = parts;
    const url = `${places.registry(host)}/v2/${name}/manifests/${tag}`;
    const answer = await web.get(url, { accept, limit: BUILT, redirect: "manual" });
    // A Factory says it in words; a registry in between answers JSON, a page of errors HTML, and neither knows what
    // the Factory can make.
    if (
      "status" in answer &&
      (answer.status === 400 || answer.status === 404) &&
      isWordOfFactory(name, answer.body)
    ) {
      return [
        {
          field: "talosVersion",
          problem: `the Image Factory does not have ${image}: ${answer.body.trim().split("\n")[0] ?? ""} (${answer.status})`,
          why: "the machines that are to run it would be left behind, after others were upgraded",
          remedy:
            "choose a release and extensions that it has, or try again later if it should have them",
        },
      ];
    }
    const there = "status" in answer && answer.status < 400;
    report(`image ${image}: ${there ? "there" : `not known (${wordsOf(answer)})`}`);
    return [];
  });
  return (await Promise.all(asked)).flat();
}
