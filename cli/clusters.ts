import * as path from "node:path";

/** A cluster, known by the file that describes its machines. */
export interface Cluster {
  /** The file's folder. */
  folder: string;
}

const stepsOf = (folder: string): ReadonlySet<string> =>
  new Set(path.resolve(folder).split(path.sep));

/**
 * Index of the clusters of a repository, for lookups by file. Each folder is compared with the clusters only once.
 */
interface Index<One extends Cluster> {
  /** Indices of clusters, by a segment of their folders' paths. A segment that all clusters share is left out. */
  byStep: ReadonlyMap<string, readonly number[]>;
  byFolder: Map<string, readonly One[]>;
  /** Lists of clusters. The key has the clusters' indices, so that equal lists are the same object. */
  lists: Map<string, readonly One[]>;
}

const indices = new WeakMap<readonly Cluster[], Index<Cluster>>();

function indexOf<One extends Cluster>(clusters: readonly One[]): Index<One> {
  const existingIndex = indices.get(clusters) as Index<One> | undefined;
  if (existingIndex !== undefined) return existingIndex;
  const byStep = new Map<string, number[]>();
  clusters.forEach(({ folder }, index) => {
    for (const step of stepsOf(folder))
      byStep
        .set(step, byStep.get(step) ?? [])
        .get(step)!
        .push(index);
  });
  for (const [step, indicesOfStep] of byStep)
    if (indicesOfStep.length === clusters.length) byStep.delete(step);
  const index: Index<One> = { byStep, byFolder: new Map(), lists: new Map() };
  indices.set(clusters, index);
  return index;
}

/**
 * The clusters of a repository to which a file may belong: those whose folders share most path segments with the file's
 * path. Segments that all clusters have do not count: `kubernetes/main/apps/…` and `flux/main` both belong to
 * `kubernetes/main/bootstrap/talos`. If the file shares no other segment with a cluster, the function returns all
 * clusters.
 */
export function clustersOf<One extends Cluster>(
  file: string,
  clusters: readonly One[],
): readonly One[] {
  const { byStep, byFolder, lists } = indexOf(clusters);
  const folder = path.dirname(file);
  const knownClusters = byFolder.get(folder);
  if (knownClusters !== undefined) return knownClusters;
  const counts = new Map<number, number>();
  for (const step of stepsOf(folder))
    for (const index of byStep.get(step) ?? []) counts.set(index, (counts.get(index) ?? 0) + 1);
  const greatestCount = Math.max(0, ...new Set(counts.values()));
  const nearest =
    greatestCount === 0
      ? []
      : [...counts].flatMap(([index, count]) => (count === greatestCount ? [index] : []));
  const key = nearest.sort((a, b) => a - b).join();
  const list =
    lists.get(key) ?? (greatestCount === 0 ? clusters : nearest.map((index) => clusters[index]!));
  lists.set(key, list);
  byFolder.set(folder, list);
  return list;
}

/** Whether two files may belong to the same cluster. */
export function shareCluster(
  file: string,
  otherFile: string,
  clusters: readonly Cluster[],
): boolean {
  if (clusters.length < 2) return true;
  const [clustersOfFile, clustersOfOtherFile] = [
    clustersOf(file, clusters),
    clustersOf(otherFile, clusters),
  ];
  return clustersOfFile === clustersOfOtherFile || overlap(clustersOfFile, clustersOfOtherFile);
}

const overlaps = new WeakMap<readonly Cluster[], Map<readonly Cluster[], boolean>>();

function overlap(clusters: readonly Cluster[], otherClusters: readonly Cluster[]): boolean {
  const knownOverlaps = overlaps.get(clusters) ?? new Map<readonly Cluster[], boolean>();
  overlaps.set(clusters, knownOverlaps);
  if (!knownOverlaps.has(otherClusters)) {
    const set = new Set(otherClusters);
    knownOverlaps.set(
      otherClusters,
      clusters.some((cluster) => set.has(cluster)),
    );
  }
  return knownOverlaps.get(otherClusters)!;
}
