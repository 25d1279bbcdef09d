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
const copyTable = (name: string) => {
  const file = path.join(dir, name);
  fs.copyFileSync(table, file);
  return file;
};

/** The drivers of a row, without its range of patch releases. */
const withoutRange = ({ from: _from, to: _to, inferred: _inferred, ...drivers }: DriverRow) =>
  drivers;

test("newer and inferred releases get the drivers that the Image Factory lists, and nothing else changes", async () => {
  const factory = await startFactory();
  const file = copyTable("talos-releases.json");
  const messages = await renewReleases(factory.url, file);
  await factory.close();
  const expectedRows = [...driverRows.filter(({ inferred }) => inferred), ...laterReleases];
  for (const { minor, to, lts } of expectedRows)
    expect(messages).toContainEqual(expect.stringContaining(`v1.${minor}.${to}: ${lts} (lts)`));
  const { drivers, ...otherTables } = tablesIn(file);
  const { drivers: previousDrivers, ...previousTables } = tablesIn(table);
  expect(otherTables).toEqual(previousTables);
  for (const { minor } of minorRows) {
    const rows = drivers.filter((row) => row.minor === minor);
    if (!expectedRows.some((row) => row.minor === minor))
      expect(rows).toEqual(previousDrivers.filter((row) => row.minor === minor));
    expect(rows.map(({ from }) => from)).toEqual([0, ...rows.slice(0, -1).map(({ to }) => to + 1)]);
    // The Image Factory's rows replaced the inferred ones.
    expect(rows.filter(({ inferred }) => inferred)).toEqual([]);
    for (const row of rows)
      for (let patch = row.from; patch <= row.to; patch++)
        expect(withoutRange(row)).toEqual(withoutRange(driversOf(`v1.${minor}.${patch}`)!));
  }
  for (const row of laterReleases) expect(drivers).toContainEqual(row);
});

test("an extension that since.json lacks is reported", async () => {
  const { minor, to } = driverRows.findLast(({ inferred }) => !inferred)!;
  const newerVersion = `v1.${minor}.${to + 1}`;
  const extensions = [
    "nvidia-container-toolkit-lts",
    "nvidia-container-toolkit-production",
    "new-one",
  ].map((name) => ({
    name: `siderolabs/${name}`,
    ref: `ghcr.io/siderolabs/${name}:580.178.04-v1.19.1`,
  }));
  const fetchMock = jest.spyOn(globalThis, "fetch");
  fetchMock.mockImplementation((url) =>
    Promise.resolve(Response.json(/\/versions$/.test(url as string) ? [newerVersion] : extensions)),
  );
  const messages = await renewReleases("http://factory", copyTable("one-more.json"));
  fetchMock.mockRestore();
  expect(messages).toContain(
    `${newerVersion}: has extensions that since.json does not: siderolabs/new-one`,
  );
});

test("the tables stay unchanged if the Image Factory does not answer", async () => {
  const file = copyTable("untouched.json");
  await expect(renewReleases("http://127.0.0.1:65535", file)).rejects.toThrow("fetch failed");
  expect(fs.readFileSync(file, "utf8")).toBe(fs.readFileSync(table, "utf8"));
});
