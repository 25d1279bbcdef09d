import * as fs from "node:fs";
import * as path from "node:path";
import { stringify } from "yaml";
import { plan as verb } from "../../../cli/plan/verb";
import { largestFile } from "../../../components/lookups/bounded-file";
import { readStackFile } from "../../../stacks/stack-file";
import { gitIn } from "../../support/git";
import { runVerb, scratch } from "../stand";

// A pull request is planned from its own files, which are only read, while the base branch is checked out.

const outside = scratch();
const folder = path.join(outside, "repository");
const stack = path.join(folder, "stacks/Pulumi.gpus.yaml");
const git = gitIn(folder);
const secret = "s3cr3t-of-the-runner";

const write = (name: string, text: string): void => {
  fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  fs.writeFileSync(path.join(folder, name), text);
};
const writeStack = (files: string[]): void => {
  const { gpuOperator: _, ...said } = readStackFile("rtx5070ti");
  write(
    "stacks/Pulumi.gpus.yaml",
    stringify({ config: { ...said, external: { kind: "gpuOperator", files } } }),
  );
};
const values = (more: object): string =>
  stringify({
    driver: { enabled: false },
    toolkit: { enabled: false },
    cdi: { enabled: false },
    ...more,
  });

beforeAll(() => {
  fs.mkdirSync(folder);
  git("init", "-q", "-b", "main");
  fs.writeFileSync(path.join(outside, "secret.yaml"), stringify({ auths: { d: secret } }));
  writeStack(["../flux/values.yaml"]);
  write("flux/values.yaml", values({ mark: "of main" }));
  git("add", ".");
  git("commit", "-qm", "main");
});
afterAll(() => fs.rmSync(outside, { recursive: true }));

/** Commits the changes of a pull request, and restores the working tree of main. */
function pullRequest(change: () => void): void {
  git("checkout", "-qb", "head");
  change();
  git("add", ".");
  git("commit", "-qm", "head");
  git("checkout", "-q", "main");
}
afterEach(() => void git("branch", "-qD", "head"));

const plan = (...argv: string[]) =>
  runVerb("plan", verb, ["--stack", stack, "--at", "head", ...argv]);

test("with --at, the stack's external files are read from the commit", async () => {
  pullRequest(() => write("flux/values.yaml", values({ mark: "of the pull request" })));
  const { result } = await plan("--base", "main", "--json");
  expect(result).toContain("of the pull request");
  expect(JSON.parse(result)).toMatchObject({
    valueChanges: [{ field: "mark", before: '"of main"', after: '"of the pull request"' }],
  });
});

test("a stack that exists only in the commit is planned by its path", async () => {
  pullRequest(() => write("more/Pulumi.new.yaml", fs.readFileSync(stack, "utf8")));
  const file = path.join(folder, "more/Pulumi.new.yaml");
  expect(fs.existsSync(path.dirname(file))).toBe(false);
  const { result } = await runVerb("plan", verb, ["--stack", file, "--at", "head"]);
  expect(result).toContain("## Plan of new");
});

test.each<[string, string, (() => void) | undefined, RegExp]>([
  [
    "an absolute path",
    path.join(outside, "secret.yaml"),
    undefined,
    /\(it is outside of the repository\)/,
  ],
  ["a path upwards", "../../secret.yaml", undefined, /\(it is outside of the repository\)/],
  ["a device", "/dev/zero", undefined, /\(it is outside of the repository\)/],
  ["git's own folder", "../.git/config", undefined, /\(it is not in head\)/],
  [
    "a symbolic link",
    "../flux/link.yaml",
    () => fs.symlinkSync(path.join(outside, "secret.yaml"), path.join(folder, "flux/link.yaml")),
    /\(it is no plain file\)/,
  ],
  [
    "a path through a symbolic link",
    "../up/secret.yaml",
    () => fs.symlinkSync(outside, path.join(folder, "up")),
    /\(it is not in head\)/,
  ],
  ["a folder", "../flux", undefined, /\(it is no plain file\)/],
  [
    "a huge file",
    "../flux/huge.yaml",
    () => write("flux/huge.yaml", `a: ${"x".repeat(largestFile)}\n`),
    /\(it has more than 1 MiB\)/,
  ],
  ["pathspec magic", ":(top)flux/values.yaml", undefined, /\(it is not in head\)/],
])("%s under external.files is not read", async (_, file, make, reason) => {
  pullRequest(() => {
    writeStack([file]);
    make?.();
  });
  const { status, result } = await plan();
  expect(status).toBe(1);
  expect(result).toMatch(reason);
  expect(result).not.toContain(secret);
});

test("an external file that only the working tree has is not read", async () => {
  pullRequest(() => writeStack(["../flux/untracked.yaml"]));
  write("flux/untracked.yaml", stringify({ auths: { d: secret } }));
  const { result } = await plan();
  expect(result).toContain("(it is not in head)");
  expect(result).not.toContain(secret);
  fs.rmSync(path.join(folder, "flux/untracked.yaml"));
});

test("a stack file that is a symbolic link is refused", async () => {
  pullRequest(() => {
    fs.rmSync(stack);
    fs.symlinkSync(path.join(outside, "secret.yaml"), stack);
  });
  await expect(plan()).rejects.toThrow(
    /--stack: .* of head cannot be read \(it is no plain file\)/,
  );
});

test("a stack that the commit lacks is reported", async () => {
  pullRequest(() => write("flux/values.yaml", values({})));
  const gone = path.join(folder, "stacks/Pulumi.gone.yaml");
  await expect(runVerb("plan", verb, ["--stack", gone, "--at", "head"])).rejects.toThrow(
    /--stack: head has no /,
  );
  await expect(runVerb("plan", verb, ["--stack", gone, "--at", "nowhere"])).rejects.toThrow(
    /--at: git has no/,
  );
});
