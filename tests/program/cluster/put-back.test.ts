import { putBack, says } from "../../../components/program/cluster/put-back";
import type { PutBackTask } from "../../../components/program/task";

type Wanted = PutBackTask["objects"][number];

/** Objects in memory. As on the API server, an apply without a change keeps the version. */
class FakeObjects {
  public applied: string[] = [];
  constructor(public now: Record<string, any>) {}
  async read({ metadata: { name } }: Wanted): Promise<any> {
    return this.now[name];
  }
  async apply(object: Wanted, manager: string): Promise<any> {
    const { name } = object.metadata;
    this.applied.push(`${manager} ${name}`);
    const before = this.now[name];
    const [labels, data] = [before?.metadata.labels, before?.data ?? {}];
    const same = JSON.stringify(data) === JSON.stringify(object["data"]) || data.spelled === true;
    this.now[name] = {
      ...object,
      metadata: {
        ...object.metadata,
        labels,
        resourceVersion: same ? before.metadata.resourceVersion : "2",
      },
    };
    return this.now[name];
  }
}

const map = (name: string, data: Record<string, unknown>): Wanted => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "gpu" },
  data,
});
const live = (name: string, data: object): object => ({
  ...map(name, {}),
  metadata: { name, namespace: "gpu", resourceVersion: "1" },
  data,
});

test("put-back creates missing objects, restores changed objects and does not change equal objects", async () => {
  const cluster = new FakeObjects({
    right: live("right", { a: "1", added: "by a user" }),
    wrong: live("wrong", { a: "2" }),
    otherwise: live("otherwise", { spelled: true }),
  });
  const lines: string[] = [];
  const objects = ["gone", "right", "wrong", "otherwise"].map((name) => map(name, { a: "1" }));
  const result = await putBack(
    { manager: "talos-gpu", objects },
    cluster,
    (line) => void lines.push(line),
  );
  expect(result).toEqual({ made: ["ConfigMap gpu/gone"], mended: ["ConfigMap gpu/wrong"] });
  expect(cluster.applied).toEqual(["talos-gpu gone", "talos-gpu wrong", "talos-gpu otherwise"]);
  expect(lines).toEqual([
    "ConfigMap gpu/gone: was missing, and is restored",
    "ConfigMap gpu/wrong: differed from the stack, and is restored",
  ]);
  const again = await putBack(
    { manager: "talos-gpu", objects: objects.slice(0, 3) },
    cluster,
    (line) => void lines.push(line),
  );
  expect([again, lines.at(-1)]).toEqual([
    { made: [], mended: [] },
    "equal: 3 objects agree with the stack",
  ]);
});

test.each<[string, unknown, unknown]>([
  ["an equal value", { a: 1 }, { a: 1 }],
  [
    "further fields",
    { a: 1, b: 2, list: [{ name: "x", uid: 1 }, "y"] },
    { a: 1, list: [{ name: "x" }] },
  ],
  ["no fields where the stack's are empty", {}, { labels: {}, list: [], nothing: null }],
])("an object with %s agrees with the stack", (_, has, wanted) =>
  expect(says(has, wanted)).toBe(true),
);

test.each<[string, unknown, unknown]>([
  ["another value", { a: 1 }, { a: 2 }],
  ["a missing field", { a: 1 }, { a: 1, b: "x" }],
  ["a missing item of a list", { list: [{ name: "x" }] }, { list: [{ name: "x" }, { name: "y" }] }],
  ["no field where the stack's is false", {}, { suspend: false }],
  ["a text in place of a mapping", { a: "x" }, { a: { b: 1 } }],
])("an object with %s differs from the stack", (_, has, wanted) =>
  expect(says(has, wanted)).toBe(false),
);
