import * as fs from "node:fs";
import * as path from "node:path";
import { stringify } from "yaml";
import { plan as verb } from "../../../cli/plan/verb";
import { largestFile } from "../../../components/lookups/bounded-file";
import { readStackFile } from "../../../stacks/stack-file";
import { gitIn } from "../../support/git";
import { runVerb, makeTemporaryFolder } from "../support";

// A pull request is planned from its own files, which are only read, while the base branch is checked out.

const parentFolder = makeTemporaryFolder();
const folder = path.join(parentFolder, "repository");
const stack = path.join(folder, "stacks/Pulumi.gpus.yaml");
const git = gitIn(folder);
const secret = "s3cr3t-of-the-runner";

const write = (name: string, text: string): void => {
  fs.mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
  fs.writeFileSync(path.join(folder, name), text);
};
const writeStack = (files: string[]): void => {
  const { gpuOperator: _, ...fields } = readStackFile("rtx5070ti");
  write(
    "stacks/Pulumi.gpus.yaml",
    stringify({ config: { ...fields, external: { kind: "gpuOperator", files } } }),
  );
};
const values = (otherValues: object): string =>
  stringify({
    driver: { enabled: false },
    toolkit: { enabled: false },
    cdi: { enabled: false },
    ...otherValues,
  });

beforeAll(() => {
  fs.mkdirSync(folder);
  git("init", "-q", "-b", "main");
  fs.writeFileSync(path.join(parentFolder, "secret.yaml"), stringify({ auths: { d: secret } }));
  writeStack(["../flux/values.yaml"]);
  write("flux/values.yaml", values({ mark: "of main" }));
  git("add", ".");
  git("commit", "-qm", "main");
});
afterAll(() => fs.rmSync(parentFolder, { recursive: true }));

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
  const { stdout } = await plan("--base", "main", "--json");
  expect(stdout).toContain("of the pull request");
  expect(JSON.parse(stdout)).toMatchObject({
    valueChanges: [{ field: "mark", before: '"of main"', after: '"of the pull request"' }],
  });
});

test("a stack that exists only in the commit is planned by its path", async () => {
  pullRequest(() => write("more/Pulumi.new.yaml", fs.readFileSync(stack, "utf8")));
  const file = path.join(folder, "more/Pulumi.new.yaml");
  expect(fs.existsSync(path.dirname(file))).toBe(false);
  const { stdout } = await runVerb("plan", verb, ["--stack", file, "--at", "head"]);
  expect(stdout).toContain("## Plan of new");
});

/** An entry of `external.files` that must not be read. */
interface UnreadEntry {
  name: string;
  file: string;
  /** Creates the file in the pull request. Default: it exists already, or in no commit. */
  prepare?: () => void;
  reason: RegExp;
}

test.each<UnreadEntry>([
  {
    name: "an absolute path",
    file: path.join(parentFolder, "secret.yaml"),
    reason: /\(it is outside of the repository\)/,
  },
  {
    name: "a path upwards",
    file: "../../secret.yaml",
    reason: /\(it is outside of the repository\)/,
  },
  { name: "a device", file: "/dev/zero", reason: /\(it is outside of the repository\)/ },
  { name: "git's own folder", file: "../.git/config", reason: /\(it is not in head\)/ },
  {
    name: "a symbolic link",
    file: "../flux/link.yaml",
    prepare: () =>
      fs.symlinkSync(path.join(parentFolder, "secret.yaml"), path.join(folder, "flux/link.yaml")),
    reason: /\(it is no plain file\)/,
  },
  {
    name: "a path through a symbolic link",
    file: "../up/secret.yaml",
    prepare: () => fs.symlinkSync(parentFolder, path.join(folder, "up")),
    reason: /\(it is not in head\)/,
  },
  { name: "a folder", file: "../flux", reason: /\(it is no plain file\)/ },
  {
    name: "a huge file",
    file: "../flux/huge.yaml",
    prepare: () => write("flux/huge.yaml", `a: ${"x".repeat(largestFile)}\n`),
    reason: /\(it has more than 1 MiB\)/,
  },
  { name: "pathspec magic", file: ":(top)flux/values.yaml", reason: /\(it is not in head\)/ },
])("$name under external.files is not read", async ({ file, prepare, reason }) => {
  pullRequest(() => {
    writeStack([file]);
    prepare?.();
  });
  const { status, stdout } = await plan();
  expect(status).toBe(1);
  expect(stdout).toMatch(reason);
  expect(stdout).not.toContain(secret);
});

test("an external file that only the working tree has is not read", async () => {
  pullRequest(() => writeStack(["../flux/untracked.yaml"]));
  write("flux/untracked.yaml", stringify({ auths: { d: secret } }));
  const { stdout } = await plan();
  expect(stdout).toContain("(it is not in head)");
  expect(stdout).not.toContain(secret);
  fs.rmSync(path.join(folder, "flux/untracked.yaml"));
});

test("a stack file that is a symbolic link is refused", async () => {
  pullRequest(() => {
    fs.rmSync(stack);
    fs.symlinkSync(path.join(parentFolder, "secret.yaml"), stack);
  });
  await expect(plan()).rejects.toThrow(
    /--stack: .* of head cannot be read \(it is no plain file\)/,
  );
});

test("a stack that the commit lacks is reported, and so is a commit that git lacks", async () => {
  pullRequest(() => write("flux/values.yaml", values({})));
  const missingStack = path.join(folder, "stacks/Pulumi.gone.yaml");
  await expect(runVerb("plan", verb, ["--stack", missingStack, "--at", "head"])).rejects.toThrow(
    /--stack: head has no /,
  );
  await expect(runVerb("plan", verb, ["--stack", missingStack, "--at", "nowhere"])).rejects.toThrow(
    /--at: git has no/,
  );
});
