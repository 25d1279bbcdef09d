import { putBack, includes } from "../../../components/program/cluster/put-back";
import type { PutBackTask } from "../../../components/program/task";

type StackObject = PutBackTask["objects"][number];

/**
 * Objects in memory. As on the API server, an apply without a change keeps the version. An object with
 * `sameInOtherForm` does not change at an apply, because the server has the same values in another form.
 */
class FakeObjects {
  public applied: string[] = [];
  constructor(public liveObjects: Record<string, any>) {}
  async read({ metadata: { name } }: StackObject): Promise<any> {
    return this.liveObjects[name];
  }
  async apply(object: StackObject, manager: string): Promise<any> {
    const { name } = object.metadata;
    this.applied.push(`${manager} ${name}`);
    const objectBefore = this.liveObjects[name];
    const labels = objectBefore?.metadata.labels;
    const data = objectBefore?.data ?? {};
    const isUnchanged =
      JSON.stringify(data) === JSON.stringify(object["data"]) || data.sameInOtherForm === true;
    this.liveObjects[name] = {
      ...object,
      metadata: {
        ...object.metadata,
        labels,
        resourceVersion: isUnchanged ? objectBefore.metadata.resourceVersion : "2",
      },
    };
    return this.liveObjects[name];
  }
}

const configMap = (name: string, data: Record<string, unknown>): StackObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "gpu" },
  data,
});
const liveConfigMap = (name: string, data: object): object => ({
  ...configMap(name, {}),
  metadata: { name, namespace: "gpu", resourceVersion: "1" },
  data,
});

test("put-back creates missing objects, restores changed objects and does not change equal objects", async () => {
  const cluster = new FakeObjects({
    right: liveConfigMap("right", { a: "1", added: "by a user" }),
    wrong: liveConfigMap("wrong", { a: "2" }),
    otherForm: liveConfigMap("otherForm", { sameInOtherForm: true }),
  });
  const lines: string[] = [];
  const objects = ["gone", "right", "wrong", "otherForm"].map((name) =>
    configMap(name, { a: "1" }),
  );
  const result = await putBack(
    { manager: "talos-gpu", objects },
    cluster,
    (line) => void lines.push(line),
  );
  expect(result).toEqual({ made: ["ConfigMap gpu/gone"], mended: ["ConfigMap gpu/wrong"] });
  expect(cluster.applied).toEqual(["talos-gpu gone", "talos-gpu wrong", "talos-gpu otherForm"]);
  expect(lines).toEqual([
    "ConfigMap gpu/gone: was missing, and is restored",
    "ConfigMap gpu/wrong: differed from the stack, and is restored",
  ]);
  const secondResult = await putBack(
    { manager: "talos-gpu", objects: objects.slice(0, 3) },
    cluster,
    (line) => void lines.push(line),
  );
  expect(secondResult).toEqual({ made: [], mended: [] });
  expect(lines.at(-1)).toBe("equal: 3 objects agree with the stack");
});

test.each<[string, unknown, unknown]>([
  ["an equal value", { a: 1 }, { a: 1 }],
  [
    "further fields",
    { a: 1, b: 2, list: [{ name: "x", uid: 1 }, "y"] },
    { a: 1, list: [{ name: "x" }] },
  ],
  ["no fields where the stack's are empty", {}, { labels: {}, list: [], nothing: null }],
])("an object with %s agrees with the stack", (_, liveObject, stackObject) =>
  expect(includes(liveObject, stackObject)).toBe(true),
);

test.each<[string, unknown, unknown]>([
  ["another value", { a: 1 }, { a: 2 }],
  ["a missing field", { a: 1 }, { a: 1, b: "x" }],
  ["a missing item of a list", { list: [{ name: "x" }] }, { list: [{ name: "x" }, { name: "y" }] }],
  ["no field where the stack's is false", {}, { suspend: false }],
  ["a text in place of a mapping", { a: "x" }, { a: { b: 1 } }],
])("an object with %s differs from the stack", (_, liveObject, stackObject) =>
  expect(includes(liveObject, stackObject)).toBe(false),
);
