import * as fs from "node:fs";
import * as path from "node:path";
import { check } from "../../../cli/check/verb";
import type { FileFinding } from "../../../cli/check/judge-files";
import { runVerb, makeTemporaryFolder } from "../support";

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => fs.rmSync(folder, { recursive: true })));

function folderWith(files: Record<string, string>): string {
  const folder = makeTemporaryFolder();
  folders.push(folder);
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(path.join(folder, path.dirname(name)), { recursive: true });
    fs.writeFileSync(path.join(folder, name), text);
  }
  return folder;
}

const faultyPatch = "machine:\n  sysctl: {}\n";
const talconfig = (release: string): string =>
  `talosVersion: ${release}\nnodes: [{ hostname: a, ipAddress: 192.0.2.1, controlPlane: true }]\n`;

async function releasesOf(fileOrFolder: string): Promise<string[]> {
  const { stdout } = await runVerb("check", check, [fileOrFolder, "--json"]);
  const { findings } = JSON.parse(stdout) as { findings: FileFinding[] };
  return findings.map(({ file, talos }) => `${path.basename(path.dirname(file))} ${talos.join()}`);
}

describe("a patch that no talconfig names", () => {
  test.each<[string, Record<string, string>]>([
    ["a talconfig in a folder above", { "talos/talconfig.yaml": talconfig("v1.12.6") }],
    [
      "a talconfig with a variable from talenv.yaml",
      { "talos/talconfig.yaml": talconfig("${release}"), "talos/talenv.yaml": "release: 1.12.6\n" },
    ],
    ["a talenv.yaml without a talconfig", { "talos/talenv.yaml": "talosVersion: v1.12.6\n" }],
  ])("is checked for the release in %s", async (_, files) => {
    const folder = folderWith({ ".git/HEAD": "", "talos/patches/a.yaml": faultyPatch, ...files });
    expect(await releasesOf(path.join(folder, "talos/patches/a.yaml"))).toEqual([
      "patches v1.12.6",
    ]);
  });

  test("is checked for the release of its cluster if a repository has two", async () => {
    const cluster = (name: string, release: string) => ({
      [`${name}/talconfig.yaml`]: talconfig(release),
      [`${name}/${name}-patches/a.yaml`]: faultyPatch,
    });
    const folder = folderWith({
      ".git/HEAD": "",
      ...cluster("home", "v1.11.5"),
      ...cluster("lab", "v1.13.6"),
    });
    expect((await releasesOf(folder)).sort()).toEqual([
      "home-patches v1.11.5",
      "lab-patches v1.13.6",
    ]);
  });

  test("is not checked for a release from outside of the repository", async () => {
    const folder = folderWith({
      "talconfig.yaml": talconfig("v1.11.5"),
      "repo/.git/HEAD": "",
      "repo/a.yaml": faultyPatch,
    });
    expect(await releasesOf(path.join(folder, "repo"))).not.toContain("repo v1.11.5");
    expect(await releasesOf(folder)).toEqual(["repo v1.11.5"]);
  });
});
