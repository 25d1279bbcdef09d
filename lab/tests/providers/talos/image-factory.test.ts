import { Bench, types } from "./fixture";

const bench = new Bench();
beforeAll(() => bench.start());
afterAll(() => bench.stop());

describe("Schematic", () => {
  const text = (name: string): string =>
    `customization: {systemExtensions: {officialExtensions: [siderolabs/${name}]}}`;

  test("is registered, and its ID goes stale when it changes in place", async () => {
    const it = bench.provider();
    const [zfs, btrfs] = [{ schematic: text("zfs") }, { schematic: text("btrfs") }];
    const first = await bench.create(types.schematic, zfs);
    expect(bench.factory.schematics().get(first.id)?.extensions).toEqual(["siderolabs/zfs"]);
    const diff = await it.diff(types.schematic, first.id, zfs, btrfs, bench.context());
    expect(diff).toMatchObject({ changes: true, replaces: [] });
    const updated = await it.update(types.schematic, first.id, {}, btrfs, false, 0, bench.context());
    // Registered, but nothing tells the engine the new ID.
    expect([...bench.factory.schematics().values()].map((each) => each.extensions)).toContainEqual([
      "siderolabs/btrfs",
    ]);
    expect(updated.outputs).toEqual(btrfs);
  });

  test("without a text it is the plain image; a preview asks nobody", async () => {
    const { id } = await bench.create(types.schematic, {});
    expect(id).toBe("376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba");
    const before = bench.factory.requests();
    expect((await bench.create(types.schematic, { schematic: text("mei") }, {}, true)).id).toBe("");
    expect(bench.factory.requests()).toEqual(before);
  });

  test("what the Factory refuses is the error", async () => {
    const broken = bench.create(types.schematic, { schematic: "extensions: []" });
    await expect(broken).rejects.toThrow("400: yaml: construct errors: field extensions not found");
  });
});
