import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { renewReleases } from "../../../generate/facts/renew-releases";
import {
  type DriverRow,
  driverRows,
  minorRows,
} from "../../../components/recipe/facts/talos-release";
import { startFactory } from "../../../lab/factory";
import { driversOf, laterReleases } from "../../../lab/factory/releases";

const table = path.resolve("components/recipe/facts/data/talos-releases.json");
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-facts-"));
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));

interface Tables {
  drivers: DriverRow[];
}
const tablesIn = (name: string) => JSON.parse(fs.readFileSync(name, "utf8")) as Tables;
const copyOf = (name: string) => {
  const file = path.join(dir, name);
  fs.copyFileSync(table, file);
  return file;
};

test("newer and inferred releases get the drivers that the Image Factory lists, and other rows stay unchanged", async () => {
  const factory = await startFactory();
  const file = copyOf("talos-releases.json");
  const said = await renewReleases(factory.url, file);
  await factory.close();
  const asked = [...driverRows.filter(({ inferred }) => inferred), ...laterReleases];
  for (const { minor, to, lts } of asked)
    expect(said).toContainEqual(expect.stringContaining(`v1.${minor}.${to}: ${lts} (lts)`));
  const { drivers, ...others } = tablesIn(file);
  const { drivers: before, ...othersBefore } = tablesIn(table);
  expect(others).toEqual(othersBefore);
  for (const { minor } of minorRows) {
    const rows = drivers.filter((row) => row.minor === minor);
    if (!asked.some((row) => row.minor === minor))
      expect(rows).toEqual(before.filter((row) => row.minor === minor));
    expect(rows.map(({ from }) => from)).toEqual([0, ...rows.slice(0, -1).map(({ to }) => to + 1)]);
    // The Image Factory's rows replaced the inferred ones.
    for (const { from, to, ...brought } of rows)
      for (let patch = from; patch <= to; patch++) {
        const {
          from: _from,
          to: _to,
          inferred: _inferred,
          ...listed
        } = driversOf(`v1.${minor}.${patch}`)!;
        expect(brought).toEqual(listed);
      }
  }
  for (const row of laterReleases) expect(drivers).toContainEqual(row);
});

test("an extension that since.json lacks is reported", async () => {
  const { minor, to } = driverRows.findLast(({ inferred }) => !inferred)!;
  const newer = `v1.${minor}.${to + 1}`;
  const listed = [
    "nvidia-container-toolkit-lts",
    "nvidia-container-toolkit-production",
    "new-one",
  ].map((name) => ({
    name: `siderolabs/${name}`,
    ref: `ghcr.io/siderolabs/${name}:580.178.04-v1.19.1`,
  }));
  const answer = jest.spyOn(globalThis, "fetch");
  answer.mockImplementation((url) =>
    Promise.resolve(Response.json(/\/versions$/.test(url as string) ? [newer] : listed)),
  );
  const said = await renewReleases("http://factory", copyOf("one-more.json"));
  answer.mockRestore();
  expect(said).toContain(`${newer}: has extensions that since.json does not: siderolabs/new-one`);
});

test("the tables stay unchanged if the Image Factory does not answer", async () => {
  const file = copyOf("untouched.json");
  await expect(renewReleases("http://127.0.0.1:65535", file)).rejects.toThrow("fetch failed");
  expect(fs.readFileSync(file, "utf8")).toBe(fs.readFileSync(table, "utf8"));
});
