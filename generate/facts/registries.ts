/** A release of a project, as a registry lists it. */
export interface Published {
  /** Without the `v`, e.g. `0.33.0`. */
  version: string;
  /** Month of its publication, e.g. `2026-11`. */
  month: string;
}

/** Time limit of an answer, in milliseconds. */
const LIMIT = 30_000;

const json = async (url: string): Promise<unknown> => {
  const response = await fetchWithin(url, {});
  if (!response.ok) throw new Error(`${url}: answers ${response.status}`);
  return response.json();
};

/** Sends a request; an error names the server. */
async function fetchWithin(url: string, options: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...options, signal: AbortSignal.timeout(LIMIT) });
  } catch (error) {
    const { message, cause } = error as Error;
    throw new Error(`${url}: ${message}${cause instanceof Error ? ` (${cause.message})` : ""}`, {
      cause: error,
    });
  }
}

/**
 * The newest release of a package on PyPI. `info.version` is a pre-release only if the package has no other release.
 */
export async function onPyPi(name: string): Promise<Published> {
  const { info, urls } = (await json(`https://pypi.org/pypi/${name}/json`)) as {
    info: { version: string };
    urls: { upload_time: string }[];
  };
  const [file] = urls;
  if (file === undefined)
    throw new Error(`https://pypi.org/pypi/${name}/json: has no file of ${info.version}`);
  return { version: info.version, month: file.upload_time.slice(0, 7) };
}

/** The newest release of a repository on GitHub, pre-releases excluded. */
export async function onGitHub(repository: string): Promise<Published> {
  const url = `https://api.github.com/repos/${repository}/releases/latest`;
  const { tag_name: tag, published_at: publishedAt } = (await json(url)) as {
    tag_name: string;
    published_at: string;
  };
  return { version: tag.replace(/^v/, ""), month: publishedAt.slice(0, 7) };
}

/** Media types of a manifest: an image of one platform, or an index of several. */
const manifests = [
  "application/vnd.oci.image.index.v1+json",
  "application/vnd.oci.image.manifest.v1+json",
  "application/vnd.docker.distribution.manifest.list.v2+json",
  "application/vnd.docker.distribution.manifest.v2+json",
].join(", ");

/**
 * Whether a registry serves an image. A public registry gives a token to every client (distribution/distribution, docs,
 * token authentication).
 *
 * @param image e.g. `ollama/ollama:0.32.15`, `ghcr.io/berriai/litellm:v1.110.2`.
 */
export const isServed = async (image: string): Promise<boolean> => (await manifestOf(image)).ok;

/**
 * The digest of an image's tag in its registry, for all processors together; undefined if the registry has no such tag,
 * or reports no digest.
 */
export async function digestOf(image: string): Promise<string | undefined> {
  const { ok, headers } = await manifestOf(image);
  const digest = headers.get("docker-content-digest") ?? "";
  return ok && /^sha256:[0-9a-f]{64}$/.test(digest) ? digest : undefined;
}

/** A registry's answer for an image's manifest, which shows whether the manifest exists. */
async function manifestOf(image: string): Promise<Response> {
  const [, host, name, tag] = /^(?:([^/]+\.[^/]+)\/)?([^:]+):(.+)$/.exec(image) ?? [];
  if (name === undefined || tag === undefined)
    throw new Error(`${image}: is not an image with a tag`);
  // An official image of Docker Hub has a name of one word.
  const path = host === undefined && !name.includes("/") ? `library/${name}` : name;
  const url = `https://${host ?? "registry-1.docker.io"}/v2/${path}/manifests/${tag}`;
  const ask = (headers: Record<string, string>): Promise<Response> =>
    fetchWithin(url, { method: "HEAD", headers: { accept: manifests, ...headers } });
  const first = await ask({});
  const challenge = first.headers.get("www-authenticate") ?? "";
  const response =
    first.status === 401
      ? await ask({ authorization: `Bearer ${await tokenFor(challenge)}` })
      : first;
  if (response.status !== 404 && !response.ok)
    throw new Error(`${url}: answers ${response.status}`);
  return response;
}

/** The token that a registry's challenge requires. */
async function tokenFor(challenge: string): Promise<string> {
  const parameters = new Map(
    [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key!, value!]),
  );
  const realm = parameters.get("realm");
  if (realm === undefined)
    throw new Error(`a registry requires credentials of an unknown kind (${challenge})`);
  const url = new URL(realm);
  for (const key of ["service", "scope"])
    if (parameters.has(key)) url.searchParams.set(key, parameters.get(key)!);
  const { token, access_token: accessToken } = (await json(url.href)) as {
    token?: string;
    access_token?: string;
  };
  const anyToken = token ?? accessToken;
  if (anyToken === undefined) throw new Error(`${url.origin}: gives no token`);
  return anyToken;
}
