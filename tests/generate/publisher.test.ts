import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import manifest from "../../components/package.json";
import { publishBy, publisherOf } from "../../generate/release/publisher";
import { repository as root } from "../../stacks/stack-file";
import { gitIn } from "../support/git";

const { owner, name } = publisherOf(manifest);

/** Texts of this repository's files in git, by path. */
function texts(): [string, string][] {
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split(
    "\0",
  );
  return files
    .filter((file) => /\.(?:md|json|ya?ml|ts|js|go)$/.test(file) && !file.startsWith("tests/"))
    .filter((file) => fs.existsSync(path.join(root, file)))
    .map((file) => [file, fs.readFileSync(path.join(root, file), "utf8")]);
}

test("every file has the repository's owner from components/package.json", () => {
  const otherOwners = texts().flatMap(([file, text]) =>
    [...text.matchAll(/(?:github(?:usercontent)?\.com\/|github>|uses: +)([\w-]+)\/talos-gpu\b/g)]
      .filter(([, account]) => account !== owner)
      .map(([link]) => `${file}: ${link}`),
  );
  expect(otherOwners).toEqual([]);
});

describe("in a fork", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-fork-"));
  afterAll(() => fs.rmSync(folder, { recursive: true }));
  const pathOf = (file: string): string => path.join(folder, file);

  test("publishBy changes the owner in all files, and no other text", () => {
    const git = gitIn(folder);
    fs.mkdirSync(pathOf("components"));
    fs.writeFileSync(pathOf("components/package.json"), JSON.stringify(manifest));
    fs.writeFileSync(pathOf("a.md"), `https://github.com/${owner}/${name} is ${owner}'s ${name}\n`);
    fs.writeFileSync(pathOf("b.yml"), `uses: ${owner}/${name}/actions/check@v1\n`);
    fs.writeFileSync(pathOf("c.json"), `{ "publisher": "${owner}" }\n`);
    fs.writeFileSync(pathOf("d.md"), `${owner}/${name}-other, x${owner}/${name}\n`);
    git("init", "-q");
    git("add", "-A");
    expect(publishBy(folder, "me")).toEqual(["a.md", "b.yml", "c.json", "components/package.json"]);
    const read = (file: string): string => fs.readFileSync(pathOf(file), "utf8");
    expect(read("a.md")).toBe(`https://github.com/me/${name} is ${owner}'s ${name}\n`);
    expect(read("b.yml")).toBe(`uses: me/${name}/actions/check@v1\n`);
    expect(read("c.json")).toBe('{ "publisher": "me" }\n');
    expect(publisherOf(JSON.parse(read("components/package.json")) as typeof manifest)).toEqual({
      owner: "me",
      name,
    });
  });

  test.each(["", "a/b", "-x"])("publishBy refuses %p as an account", (account) => {
    expect(() => publishBy(folder, account)).toThrow(/^ACCOUNT: /);
  });
});
