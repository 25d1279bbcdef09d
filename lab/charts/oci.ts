import { createHash } from "node:crypto";
import { archiveName, type ChartContents, metadataOf } from "./contents";

/** An answer to a request. */
export interface Answer {
  body: string | Buffer;
  headers?: Readonly<Record<string, string>>;
}

// Media types of charts in registries (helm.sh/docs/topics/registries, "The Helm chart registry artifact").
const manifestType = "application/vnd.oci.image.manifest.v1+json";
const configType = "application/vnd.cncf.helm.config.v1+json";
const archiveType = "application/vnd.cncf.helm.chart.content.v1.tar+gzip";

/** The registries of the lab's charts (github.com/opencontainers/distribution-spec), for pulls alone. */
export class ChartRegistries {
  /** Configurations and archives, by digest. */
  private readonly blobs = new Map<string, string | Buffer>();

  constructor(private readonly contents: ChartContents) {}

  /**
   * Answers a request.
   *
   * @param path with the registry's host: `/HOST/v2/…`
   * @returns undefined if there is no such content
   */
  async answer(path: string): Promise<Answer | undefined> {
    if (/^\/[^/]+\/v2\/?$/.test(path)) return { body: "{}" };
    const match = /^(\/[^/]+)\/v2(\/.+)?\/([^/]+)\/(manifests|blobs|tags)\/([^/]+)$/.exec(path);
    if (match === null) return undefined;
    const [, host = "", folder = "", name = "", kind = "", reference = ""] = match;
    const chart = this.contents.chartAt(`${host}${folder}`);
    if (chart === undefined || chart !== name) return undefined;
    const releases = this.contents.releasesOf(chart);
    if (kind === "tags")
      return { body: JSON.stringify({ name: `${folder}/${name}`, tags: releases }) };
    if (kind === "blobs") {
      const body = this.blobs.get(reference);
      return body === undefined ? undefined : { body };
    }
    if (this.blobs.has(reference)) return this.manifestAnswer(this.blobs.get(reference)!);
    if (!releases.includes(reference)) return undefined;
    const archive = await this.contents.archiveOf(chart, reference);
    const manifest = JSON.stringify({
      schemaVersion: 2,
      mediaType: manifestType,
      config: this.descriptor(configType, JSON.stringify(metadataOf(chart, reference))),
      layers: [
        {
          ...this.descriptor(archiveType, archive),
          annotations: { "org.opencontainers.image.title": archiveName(chart, reference) },
        },
      ],
    });
    this.descriptor(manifestType, manifest);
    return this.manifestAnswer(manifest);
  }

  private manifestAnswer(body: string | Buffer): Answer {
    return {
      body,
      headers: { "content-type": manifestType, "docker-content-digest": digestOf(body) },
    };
  }

  /** Keeps a content for a later request, and describes it. */
  private descriptor(mediaType: string, content: string | Buffer): Record<string, string | number> {
    const digest = digestOf(content);
    this.blobs.set(digest, content);
    return { mediaType, digest, size: Buffer.byteLength(content) };
  }
}

const digestOf = (content: string | Buffer): string =>
  `sha256:${createHash("sha256").update(content).digest("hex")}`;
