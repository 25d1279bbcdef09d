import { type Problem, problemAt } from "../../../clients/failure";
import type { Report } from "../progress";
import { type Places, type Web, wordsOf } from "./web";
import texts from "../texts.json";

/** Milliseconds for a Factory to make an image: the first who asks waits until it is built (image-factory, internal/frontend/http/registry.go). */
const BUILT = 120_000;

/** Forms of an image's manifest. */
const accept = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/**
 * Whether the Image Factory can make the installer images. It says here, and not before, that an extension is not there for a
 * release. Only its clear no counts: machines may pull through a mirror that has what this computer cannot see, and each one
 * pulls its image before it is drained.
 */
export async function askForInstallers(
  images: readonly string[],
  web: Web,
  places: Places,
  report: Report,
): Promise<Problem[]> {
  const asked = images.map(async (image): Promise<Problem[]> => {
    const [, host = "", name = "", tag = ""] = /^([^/]+)\/(.+)[:]([^:/]+)$/.exec(image) ?? [];
    if (host === "") return [];
    const url = `${places.registry(host)}/v2/${name}/manifests/${tag}`;
    const answer = await web.get(url, { accept, limit: BUILT, redirect: "manual" });
    // A Factory says it in words; a registry in between answers JSON, a page of errors HTML, and neither knows what the Factory can make.
    if ("status" in answer && (answer.status === 400 || answer.status === 404) && /^[^{<]/.test(answer.body)) {
      return [
        problemAt("talosVersion", texts.installer, { image, reason: answer.body.trim().split("\n")[0] ?? "", answer }),
      ];
    }
    const there = "status" in answer && answer.status < 400;
    report(`image ${image}: ${there ? "there" : `not known (${wordsOf(answer)})`}`);
    return [];
  });
  return (await Promise.all(asked)).flat();
}
