import { clustersOf, shareCluster } from "../../cli/clusters";

const many = 300;
const clusters = Array.from({ length: many }, (_, index) => ({
  folder: `/repository/c${index}/talos`,
}));

test("the folder of each cluster is read once for any number of files", () => {
  let count = 0;
  const counted = clusters.map(({ folder }) => ({
    get folder() {
      count++;
      return folder;
    },
  }));
  for (let round = 0; round < 3; round++)
    for (let index = 0; index < many; index++) {
      const [own, ...others] = clustersOf(`/repository/c${index}/apps/a.yaml`, counted);
      expect(own === counted[index] && others.length === 0).toBe(true);
    }
  expect(count).toBe(many);
});

test("files share a cluster if their lists of clusters have a common entry", () => {
  const share = (one: string, other: string): boolean => shareCluster(one, other, clusters);
  expect(share("/repository/c1/a.yaml", "/repository/c1/b/c.yaml")).toBe(true);
  expect(share("/repository/c1/a.yaml", "/repository/c2/a.yaml")).toBe(false);
  expect(share("/repository/all/a.yaml", "/repository/c2/a.yaml")).toBe(true);
  expect(share("/repository/all/a.yaml", "/repository/others/a.yaml")).toBe(true);
  expect(clustersOf("/repository/all/a.yaml", clusters)).toEqual(clusters);
  expect(clustersOf("/repository/a.yaml", [])).toEqual([]);
});
