import * as path from "node:path";

/** A cluster that a file of its own tells of. */
export interface Cluster {
  /** The file's folder. */
  folder: string;
}

const stepsOf = (folder: string): string[] => path.resolve(folder).split(path.sep);

/**
 * The clusters of a repository that a file may be for: those whose folder has most in common with its path, of the steps that tell the clusters
 * apart (`kubernetes/main/apps/…` is for `kubernetes/main/bootstrap/talos`, and so is `flux/main`). All, where nothing tells.
 */
export function clustersOf<One extends Cluster>(file: string, clusters: readonly One[]): One[] {
  const folders = clusters.map(({ folder }) => stepsOf(folder));
  const isShared = (step: string): boolean => folders.every((steps) => steps.includes(step));
  const there = new Set(stepsOf(path.dirname(file)));
  const counts = folders.map((steps) => new Set(steps.filter((step) => !isShared(step) && there.has(step))).size);
  const most = Math.max(...counts);
  return clusters.filter((_, index) => counts[index] === most);
}

/** Whether two files may be for one cluster. */
export const shareCluster = (one: string, other: string, clusters: readonly Cluster[]): boolean =>
  clusters.length < 2 || clustersOf(one, clusters).some((cluster) => clustersOf(other, clusters).includes(cluster));
