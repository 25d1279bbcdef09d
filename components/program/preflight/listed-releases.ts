import { parseTalosVersion } from "../../recipe/facts/version";
import type { Report } from "../progress";
import { askOnce } from "./ask-once";
import { imageParts, namesSchematic } from "./image-parts";
import { type Places, type Web, wordsOf } from "./web";
import type { Releases } from "../seen/way";

/**
 * Time limit in milliseconds for the Factory's list of its releases. If it does not answer in time, the preflight uses
 * this package's tables.
 */
const LIMIT = 10_000;

/**
 * Asks an Image Factory for its releases (`GET /versions`; siderolabs/image-factory, docs/api.md), at most once for
 * each Factory in a run. If a Factory does not answer, the program reports that, and uses the releases in this
 * package's tables.
 */
export function releasesOf(web: Web, places: Places, report: Report): Releases {
  const ask = askOnce((url) => askForReleases(url, web, report));
  return (installerImage) => {
    const parts = imageParts(installerImage);
    if (parts === undefined || !namesSchematic(parts.name)) return Promise.resolve(undefined);
    return ask(`${places.registry(parts.host)}/versions`);
  };
}

async function askForReleases(
  url: string,
  web: Web,
  report: Report,
): Promise<string[] | undefined> {
  const answer = await web.get(url, { limit: LIMIT });
  const releases =
    "status" in answer && answer.status === 200 ? readReleases(answer.body) : undefined;
  if (releases === undefined)
    report(
      `the Image Factory's list of releases could not be read (${wordsOf(answer)}): for each minor, the program uses the newest patch release that this package knows`,
    );
  return releases;
}

/** The releases in the Factory's answer; undefined if the answer is not such a list. */
function readReleases(body: string): string[] | undefined {
  try {
    const list: unknown = JSON.parse(body);
    if (!Array.isArray(list)) return undefined;
    const releases = list.flatMap((item) =>
      typeof item === "string" ? (parseTalosVersion(item)?.text ?? []) : [],
    );
    return releases.length > 0 ? releases : undefined;
  } catch {
    return undefined;
  }
}
