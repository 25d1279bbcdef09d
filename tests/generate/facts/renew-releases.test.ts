import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { renewReleases } from "../../../generate/facts/renew-releases";
import { startFactory } from "../../../lab/factory";
import { laterReleases } from "../../../lab/factory/releases";

const table = path.resolve("components/recipe/facts/data/talos-releases.json");
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-facts-"));
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));

/** First patch releases that the tables do not have. */
const [of13, of14] = laterReleases.map(({ from }) => from) as [number, number];
const lines = (file: string) => fs.readFileSync(file, "utf8").split("\n");

test("the tables get what the Factory lists of newer and of inferred releases, and nothing else changes", async () => {
  const factory = await startFactory();
  const file = path.join(dir, "talos-releases.json");
  fs.copyFileSync(table, file);
  const said = await renewReleases(factory.url, file);
  expect(said).toContainEqual(expect.stringContaining(`v1.13.${of13}: 580.190.10 (lts)`));
  expect(said).toContainEqual(expect.stringContaining("v1.14.5: 580.178.04 (lts)"));
  const rows = (minor: number) =>
    lines(file).flatMap((line) => new RegExp(`^ {4}({ "minor": ${minor}, "from".*?}),?$`).exec(line)?.[1] ?? []);
  const { lts, production, toolkit } = laterReleases[0]!;
  // Rows that were inferred are the Factory's now: they go on with the ones before them.
  expect(rows(13).slice(-2)).toEqual([
    '{ "minor": 13, "from": 9, "to": 12, "lts": "580.178.04", "production": "595.91.07", "toolkit": "1.19.1" }',
    `{ "minor": 13, "from": ${of13}, "to": ${of13 + 3}, "lts": "${lts}", "production": "${production}", "toolkit": "${toolkit}" }`,
  ]);
  expect(rows(14).map((line) => /"from": \d+, "to": \d+/.exec(line)![0])).toEqual([
    '"from": 0, "to": 5',
    '"from": 6, "to": 6',
    `"from": ${of14}, "to": ${of14 + 3}`,
  ]);
  expect(rows(15)).toEqual([
    '{ "minor": 15, "from": 0, "to": 0, "lts": "580.196.07", "production": "595.112.07", "new-feature": "615.71.10" }',
  ]);
  const others = (name: string) => {
    const all = JSON.parse(fs.readFileSync(name, "utf8")) as { drivers: { minor: number }[] };
    return { ...all, drivers: all.drivers.filter(({ minor }) => minor < 13) };
  };
  expect(others(file)).toEqual(others(table));
  await factory.close();
});

test("a Factory that does not answer leaves the tables as they are", async () => {
  const file = path.join(dir, "untouched.json");
  fs.copyFileSync(table, file);
  await expect(renewReleases("http://127.0.0.1:65535", file)).rejects.toThrow("fetch failed");
  expect(fs.readFileSync(file, "utf8")).toBe(fs.readFileSync(table, "utf8"));
});
