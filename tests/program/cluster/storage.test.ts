import { storageOf } from "../../../components/program/cluster/states";

test("a StorageClass is the default if one of the two annotations says so", () => {
  const defaultBy = (annotations?: Record<string, string>): boolean =>
    storageOf([{ metadata: { name: "fast", ...(annotations && { annotations }) } }], []).classes[0]!
      .isDefault;
  expect(defaultBy({ "storageclass.kubernetes.io/is-default-class": "true" })).toBe(true);
  expect(defaultBy({ "storageclass.beta.kubernetes.io/is-default-class": "true" })).toBe(true);
  expect(defaultBy({ "storageclass.kubernetes.io/is-default-class": "false" })).toBe(false);
  expect(defaultBy()).toBe(false);
});

test("only a volume that no claim has yet counts as free, with or without a class", () => {
  const volume = (phase: string, storageClassName?: string) => ({
    status: { phase },
    spec: storageClassName === undefined ? {} : { storageClassName },
  });
  expect(
    storageOf([], [volume("Available"), volume("Available", "fast"), volume("Bound", "slow")]),
  ).toEqual({ classes: [], classesOfFreeVolumes: ["", "fast"] });
});
