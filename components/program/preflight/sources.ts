import * as semver from "semver";
import type { ChartName } from "../../recipe/facts/chart";
import { gpuProviderOfChart } from "../../recipe/facts/gpu-provider";
import type { FieldFinding } from "../../clients/failure";
import { boundedValues } from "../../recipe/rules/yaml";
import type { Report } from "../progress";
import type { PreflightTask } from "./task";
import { imageParts, type ImageParts, namesSchematic } from "./image-parts";
import { type Places, silence, type Web, wordsOf } from "./web";

/** Checks that the chart's repository has the chart, if this computer can reach the repository. */
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
    report(`chart ${name} ${version}: not checked`);
    return [];
  }
  const finding = (problem: string, remedy: string): FieldFinding[] => [
    {
      field,
      problem,
      why: "machines would reboot first, and then their GPU provider could not be installed",
      remedy: `${remedy}. If charts come from a mirror, set TALOS_GPU_CHARTS to the mirror's address. The value \`none\` skips this check`,
    },
  ];

  const index = await web.get(`${base}/index.yaml`);
  const silenceText = silence(index);
  if (silenceText !== undefined)
    return finding(
      `the chart repository ${repository} cannot be reached: ${silenceText}`,
      "run again once it is reachable",
    );
  if (!("status" in index) || index.status !== 200) {
    report(`chart ${name} ${version}: not known whether it exists (${wordsOf(index)})`);
    return [];
  }
  const releases = chartReleases(index.body, name);
  if (releases === undefined) {
    report(`chart ${name} ${version}: the index of ${repository} cannot be read`);
    return [];
  }
  const release = releases.find((candidate) => isSame(candidate.version, version));
  if (release === undefined) {
    const newest = releases.slice(0, 3).map((candidate) => candidate.version);
    return finding(
      `${repository} has no chart ${name} ${version}${newest.length === 0 ? "" : ` (it has ${newest.join(", ")} and others)`}`,
      `set ${field}.version to a release in the repository`,
    );
  }
  const archive = release.urls?.[0];
  if (archive === undefined) return [];
  const archiveAnswer = await web.get(new URL(archive, `${base}/`).href, { method: "HEAD" });
  if ("status" in archiveAnswer && (archiveAnswer.status === 404 || archiveAnswer.status === 410))
    return finding(
      `${repository} lists chart ${name} ${version}, but lacks its archive (${archiveAnswer.status})`,
      "run again once the repository has the archive",
    );
  report(`chart ${name} ${version}: found`);
  return [];
}

interface Release {
  version: string;
  urls?: string[];
}

/**
 * Releases of a chart in a repository's index (helm.sh/docs/topics/chart_repository); undefined if the text is not a
 * readable index.
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
 * The part of an index about one chart, because an index with thousands of charts exceeds the limit of the YAML reader.
 * Undefined if the text lacks the chart or does not have Helm's layout. In Helm's layout, items of a list are indented
 * like the list's key.
 */
function entryIn(index: string, chart: string): string | undefined {
  const lines = index.split("\n");
  const entries = lines.findIndex((line) => /^entries:\s*$/.test(line));
  const begin = lines.findIndex(
    (line, lineNumber) => lineNumber > entries && line.trimEnd() === `  ${chart}:`,
  );
  if (entries < 0 || begin < 0) return undefined;
  const end = lines.findIndex(
    (line, lineNumber) => lineNumber > begin && /^ {0,2}[^\s-]/.test(line),
  );
  return ["entries:", ...lines.slice(begin, end < 0 ? undefined : end)].join("\n");
}

/** Whether two versions are the same release for Helm, such as `v25.10.1` and `25.10.1`. */
const isSame = (a: string, b: string): boolean =>
  a === b || (semver.valid(a) !== null && semver.valid(b) !== null && semver.eq(a, b));

/**
 * Time limit in milliseconds for a Factory's answer about an image: the first request for an image waits until the
 * Factory has built it (image-factory, internal/frontend/http/registry.go).
 */
export const BUILT = 120_000;

/** Media types of an image's manifest. */
export const manifestTypes = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/** URL of an image's manifest; `tag` may also be a digest. */
export const manifestUrl = ({ host, name, tag }: ImageParts, places: Places): string =>
  `${places.registry(host)}/v2/${name}/manifests/${tag}`;

/**
 * Whether a refusal comes from an Image Factory: the image's name contains a schematic's ID, and the message says what
 * is missing. Any other server answers with the status only, e.g. `404 page not found` (Go, net/http, NotFound).
 */
const isWordOfFactory = (name: string, body: string): boolean =>
  namesSchematic(name) &&
  /^[^{<]/.test(body) &&
  !/^(\d{3} )?(page )?(not found|bad request)\.?\s*$/i.test(body);

/**
 * Findings about installer images that the Image Factory cannot build. Only a request for the image shows whether all
 * extensions exist for a release. Only a refusal by the Factory is a finding. Any other failure is reported, because
 * machines may pull through a mirror that this computer cannot reach. Each machine pulls its image before its drain in
 * any case.
 */
export async function askForInstallers(
  images: readonly string[],
  web: Web,
  places: Places,
  report: Report,
): Promise<FieldFinding[]> {
  const requests = images.map(async (image): Promise<FieldFinding[]> => {
    const parts = imageParts(image);
    if (parts === undefined) return [];
    const url = manifestUrl(parts, places);
    const answer = await web.get(url, { accept: manifestTypes, limit: BUILT, redirect: "manual" });
    // A Factory refuses in plain text. A registry in between answers JSON and a proxy HTML; neither knows what the
    // Factory can build.
    if (
      "status" in answer &&
      (answer.status === 400 || answer.status === 404) &&
      isWordOfFactory(parts.name, answer.body)
    ) {
      return [
        {
          field: "talosVersion",
          problem: `the Image Factory does not have ${image}: ${answer.body.trim().split("\n")[0] ?? ""} (${answer.status})`,
          why: "the update would stop at the machines with this image, after it has upgraded others",
          remedy:
            "choose a release and extensions that the Factory has. If it should have them, try again later",
        },
      ];
    }
    const exists = "status" in answer && answer.status < 400;
    report(
      `image ${image}: ${exists ? "found" : `not known whether it exists (${wordsOf(answer)})`}`,
    );
    return [];
  });
  return (await Promise.all(requests)).flat();
}
