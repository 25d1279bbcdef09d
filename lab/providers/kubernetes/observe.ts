import { ApiError, type KubernetesObject } from "./api";
import type { Cluster } from "./cluster";
import { limit } from "../../session/limit";

/** A collection to follow. */
export interface Followed {
  readonly path: string;
  readonly query: Record<string, string | undefined>;
}

const reconnectMilliseconds = 500;

/**
 * Follows a collection: `onChange` gets all its objects at the start and after each change, until the signal ends it.
 * A watch that the server ends, which it does every few minutes and after compaction, begins again with a list.
 *
 * Error: what makes the list fail, e.g. a kind or a permission that is not there.
 */
async function follow(
  cluster: Cluster,
  { path, query }: Followed,
  signal: AbortSignal,
  onChange: (objects: KubernetesObject[]) => void,
): Promise<void> {
  while (!signal.aborted) {
    const { items, version } = await cluster.list(path, query, signal);
    const objects = new Map(items.map((item) => [item.metadata?.uid ?? "", item]));
    onChange([...objects.values()]);
    try {
      const from = { ...query, resourceVersion: version, allowWatchBookmarks: "true" };
      for await (const { type, object } of cluster.api.watch(path, from, signal)) {
        if (type === "ERROR") break;
        if (type === "BOOKMARK") continue;
        if (type === "DELETED") objects.delete(object.metadata?.uid ?? "");
        else objects.set(object.metadata?.uid ?? "", object);
        onChange([...objects.values()]);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof ApiError && error.code < 500 && error.code !== 410) throw error;
      await pause(signal); // a broken connection; the list tells whether the server is back
    }
  }
}

/**
 * Follows several collections until `decide` returns something, with the latest objects of each (undefined until a
 * collection has been listed once). Returns undefined when the time is over.
 *
 * Errors: those of the collections; the reason of `signal` when it was aborted.
 */
export async function until<Result>(
  cluster: Cluster,
  collections: readonly Followed[],
  decide: (latest: readonly (KubernetesObject[] | undefined)[]) => Result | undefined,
  limits: { seconds: number; signal: AbortSignal },
): Promise<Result | undefined> {
  const latest: (KubernetesObject[] | undefined)[] = collections.map(() => undefined);
  const enough = new AbortController();
  const time = limit(Math.max(1, limits.seconds * 1000), enough.signal, limits.signal);
  const { signal } = time;
  let result: Result | undefined;
  const ended = (error: unknown): void => {
    if (!signal.aborted) throw error;
  };
  const followers = collections.map((collection, index) =>
    follow(cluster, collection, signal, (objects) => {
      latest[index] = objects;
      result ??= decide(latest);
      if (result !== undefined) enough.abort();
    }).catch(ended),
  );
  try {
    await Promise.all(followers);
  } finally {
    enough.abort();
    time.release();
    await Promise.allSettled(followers);
  }
  if (result === undefined) limits.signal.throwIfAborted();
  return result;
}

const pause = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, reconnectMilliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
