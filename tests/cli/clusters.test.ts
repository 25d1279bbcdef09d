import { clustersOf, shareCluster } from "../../cli/clusters";

const clusterCount = 300;
const clusters = Array.from({ length: clusterCount }, (_, index) => ({
  folder: `/repository/c${index}/talos`,
}));

test("for any number of files, the folder of each cluster is read once", () => {
  let readCount = 0;
  const countingClusters = clusters.map(({ folder }) => ({
    get folder() {
      readCount++;
      return folder;
    },
  }));
  for (let round = 0; round < 3; round++)
    for (let index = 0; index < clusterCount; index++) {
      const [cluster, ...otherClusters] = clustersOf(
        `/repository/c${index}/apps/a.yaml`,
        countingClusters,
      );
      expect(cluster).toBe(countingClusters[index]);
      expect(otherClusters).toEqual([]);
    }
  expect(readCount).toBe(clusterCount);
});

test("files share a cluster if their lists of clusters have a common entry", () => {
  const share = (file: string, otherFile: string): boolean =>
    shareCluster(file, otherFile, clusters);
  expect(share("/repository/c1/a.yaml", "/repository/c1/b/c.yaml")).toBe(true);
  expect(share("/repository/c1/a.yaml", "/repository/c2/a.yaml")).toBe(false);
  expect(share("/repository/all/a.yaml", "/repository/c2/a.yaml")).toBe(true);
  expect(share("/repository/all/a.yaml", "/repository/others/a.yaml")).toBe(true);
  expect(clustersOf("/repository/all/a.yaml", clusters)).toEqual(clusters);
  expect(clustersOf("/repository/a.yaml", [])).toEqual([]);
});
