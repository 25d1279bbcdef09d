import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { renewReleases } from "../../../cli/facts/renew-releases";
import { startFactory } from "../../../lab/factory";
import { laterReleases } from "../../../lab/factory/releases";

const table = path.resolve("components/recipe/facts/data/talos-releases.ts");
const dir = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-facts-"));
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));

/** First patch releases that the tables do not have. */
const [of13, of14] = laterReleases.map(({ from }) => from) as [number, number];

test("the tables get what the Factory lists of newer releases, and nothing else changes", async () => {
  const factory = await startFactory({
    versions: ["v1.12.6", "v1.13.9", `v1.13.${of13}`, `v1.14.${of14}`, `v1.14.${of14 + 1}`, "v1.15.0-beta.0"],
  });
  const file = path.join(dir, "talos-releases.ts");
  fs.copyFileSync(table, file);
  const said = await renewReleases(factory.url, file);
  expect(said).toEqual([
    expect.stringContaining(`v1.13.${of13}: 580.190.10 (lts)`),
    expect.stringContaining(`v1.14.${of14}: `),
    expect.stringContaining(`v1.14.${of14 + 1}: `),
  ]);
  const [before, after] = [table, file].map((name) => fs.readFileSync(name, "utf8").split("\n"));
  expect(before!.filter((line) => !after!.includes(line))).toEqual([]);
  const { lts, production, toolkit } = laterReleases[0]!;
  expect(after!.filter((line) => !before!.includes(line))).toEqual([
    `  { minor: 13, from: ${of13}, to: ${of13}, lts: "${lts}", production: "${production}", toolkit: "${toolkit}" },`,
    expect.stringContaining(`{ minor: 14, from: ${of14}, to: ${of14 + 1}, `),
  ]);
  await factory.close();
});

test("a Factory that does not answer leaves the tables as they are", async () => {
  const file = path.join(dir, "untouched.ts");
  fs.copyFileSync(table, file);
  await expect(renewReleases("http://127.0.0.1:65535", file)).rejects.toThrow("fetch failed");
  expect(fs.readFileSync(file, "utf8")).toBe(fs.readFileSync(table, "utf8"));
});
