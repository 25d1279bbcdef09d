import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { gitIn } from "../support/git";
import { readWorkflow, repository, runStep, writeProgram, findStep } from "./runner";

const workflow = readWorkflow("release.yml");
const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-release-"));
const [work, tools] = [path.join(temp, "work"), path.join(temp, "tools")];
afterAll(() => fs.rmSync(temp, { recursive: true }));

const git = gitIn(work);

/**
 * Creates a repository whose main has both packages at `version`, a changelog of `describedVersions`, and these tags.
 */
function createRepository(
  version: string,
  describedVersions: string[],
  tags: string[],
  { onMain = true, policy = {} }: { onMain?: boolean; policy?: object } = {},
): void {
  fs.rmSync(work, { recursive: true, force: true });
  fs.mkdirSync(path.join(work, "components/bin"), { recursive: true });
  fs.cpSync(path.join(repository, ".github"), path.join(work, ".github"), { recursive: true });
  fs.writeFileSync(
    path.join(work, "package.json"),
    JSON.stringify({ private: true, workspaces: ["components", "policy"] }),
  );
  const url = "git+https://github.com/owner/gpus.git";
  const write = (folder: string, fields: object): void =>
    fs.writeFileSync(
      path.join(work, folder, "package.json"),
      JSON.stringify({ version, files: ["bin"], repository: { type: "git", url }, ...fields }),
    );
  fs.mkdirSync(path.join(work, "policy"));
  write("components", { name: "talos-gpu" });
  write("policy", {
    name: "talos-gpu-policy",
    dependencies: { "talos-gpu": version },
    ...policy,
  });
  fs.writeFileSync(path.join(work, "components/bin/index.js"), "");
  const parts = [
    "Unreleased\n",
    ...describedVersions.map(
      (described) => `${described} (2026-11-22)\n\n### Added\n- What ${described} has.\n`,
    ),
  ];
  fs.writeFileSync(
    path.join(work, "CHANGELOG.md"),
    `# Changelog\n\n${parts.map((part) => `## ${part}\n`).join("")}`,
  );
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-qm", "release");
  for (const tag of tags) git("tag", tag);
  if (onMain) git("update-ref", "refs/remotes/origin/main", "HEAD");
}

const stepOptions = { cwd: work, tools, temp };
const checkTag = (tag: string, publishingRepository = "owner/gpus") => {
  git("tag", "-f", tag);
  return runStep(findStep(workflow, "pack", "release.js"), {
    ...stepOptions,
    expressions: {
      "github.ref_name": tag,
      "github.server_url": "https://github.com",
      "github.repository": publishingRepository,
    },
  });
};

test.each([
  {
    version: "0.2.0",
    describedVersions: ["0.2.0", "0.1.0"],
    tags: ["v0.1.0", "v0.2.0"],
    channel: "latest",
  },
  {
    version: "1.0.0-rc.1",
    describedVersions: ["1.0.0-rc.1"],
    tags: ["v0.9.0", "v1.0.0-beta.4"],
    channel: "next",
  },
  {
    version: "1.0.0",
    describedVersions: ["1.0.0"],
    tags: ["v1.0.0-rc.10", "v0.10.0", "something-else"],
    channel: "latest",
  },
])(
  "the tag v$version is accepted, and its version, channel and notes are written",
  ({ version, describedVersions, tags, channel }) => {
    createRepository(version, describedVersions, tags);
    expect(checkTag(`v${version}`)).toEqual({
      status: 0,
      log: "",
      output: `version=${version}\nchannel=${channel}\n`,
    });
    const notes = fs.readFileSync(path.join(work, "release/notes.md"), "utf8");
    expect(notes).toBe(`### Added\n- What ${version} has.\n`);
  },
);

test("all faults of a tag are reported together, and nothing is written", () => {
  createRepository("0.2.0", ["0.2.0"], ["v0.10.0"], { onMain: false });
  const { status, log, output } = checkTag("v0.3.0");
  expect(status).toBe(1);
  expect(output).toBe("");
  expect(log.trim().split("\n")).toEqual([
    expect.stringContaining("v0.3.0: components/package.json has version 0.2.0"),
    expect.stringContaining("v0.3.0: policy/package.json has version 0.2.0"),
    expect.stringContaining("v0.3.0: policy/package.json requires talos-gpu 0.2.0"),
    expect.stringContaining("v0.3.0: v0.10.0 is already released"),
    expect.stringContaining('v0.3.0: CHANGELOG.md has no section "## 0.3.0"'),
    expect.stringContaining("v0.3.0: its commit is not on main"),
  ]);
  expect(fs.existsSync(path.join(work, "release"))).toBe(false);
});

test("a tag is refused if the policy pack has an older version", () => {
  const policy = { version: "0.1.0", dependencies: { "talos-gpu": "0.1.0" } };
  createRepository("0.2.0", ["0.2.0"], [], { policy });
  const { status, log } = checkTag("v0.2.0");
  expect(log.trim().split("\n")).toEqual([
    "v0.2.0: policy/package.json has version 0.1.0; tag the commit whose file has this tag's version",
    "v0.2.0: policy/package.json requires talos-gpu 0.1.0, so npm would install a different release with it; write the version of the tag",
  ]);
  expect(status).toBe(1);
});

test.each(["v1.0", "v01.0.0", "v1.0.0-", "latest"])(
  "the tag %s is refused, because it is not a version",
  (tag) => {
    createRepository("1.0.0", ["1.0.0"], []);
    expect(checkTag(tag)).toMatchObject({
      status: 1,
      log: expect.stringContaining("is not a version") as unknown,
    });
  },
);

test("a tag is refused if the package names a different repository than the one that publishes it", () => {
  createRepository("0.2.0", ["0.2.0"], []);
  expect(checkTag("v0.2.0", "fork/gpus")).toMatchObject({
    status: 1,
    log: expect.stringMatching(
      /^v0\.2\.0: .* names git\+https:\/\/github\.com\/owner\/gpus\.git, not https:\/\/github\.com\/fork\/gpus; run npm run publisher/,
    ) as unknown,
  });
});

test("the workflow's jobs together pack every part that generate/release/pack.js knows", () => {
  const script = fs.readFileSync(path.join(repository, "generate/release/pack.js"), "utf8");
  const knownParts = [
    .../const parts = \{([^}]*)\}/.exec(script)![1]!.matchAll(/^ {2}(\w+):/gm),
  ].map(([, name]) => name);
  const packedParts = (["pack", "plugin"] as const).flatMap((job) =>
    findStep(workflow, job, "pack.js release").run!.split("pack.js release ")[1]!.split(" "),
  );
  // The checksums cover the packed files of all jobs, so the last job makes them.
  expect([...packedParts, "checksums"].sort()).toEqual([...knownParts].sort());
});

describe("the job publish", () => {
  const expressions = {
    "needs.pack.outputs.version": "0.2.0-rc.1",
    "needs.pack.outputs.channel": "next",
    "github.ref_name": "v0.2.0-rc.1",
    "github.repository": "owner/gpus",
    "github.token": "token-of-the-job",
  };
  /**
   * Runs a step of the job, and returns the arguments of its calls of a program, call by call.
   *
   * @param command text in the step's command
   * @param answer JavaScript that the program runs at each call
   */
  const argumentsOfCalls = (name: string, command: string, answer = ""): string[][] => {
    createRepository("0.2.0-rc.1", [], []);
    fs.mkdirSync(path.join(work, "release"));
    fs.writeFileSync(path.join(work, "release/schema.json"), "{}");
    const callsFile = path.join(temp, "called.json");
    fs.writeFileSync(callsFile, "");
    writeProgram(
      tools,
      name,
      `require("node:fs").appendFileSync(${JSON.stringify(callsFile)}, JSON.stringify(process.argv.slice(2)) + "\\n");${answer}`,
    );
    expect(
      runStep(findStep(workflow, "publish", command), { ...stepOptions, expressions }),
    ).toMatchObject({
      status: 0,
    });
    fs.rmSync(path.join(tools, name));
    const lines = fs.readFileSync(callsFile, "utf8").trim().split("\n");
    return lines.map((line) => JSON.parse(line) as string[]);
  };

  const publishArguments = (name: string): string[] => [
    ...["publish", `./release/${name}-0.2.0-rc.1.tgz`],
    ...["--provenance", "--access", "public", "--tag", "next"],
  ];
  const publishCalls = (answer: string): string[][] =>
    argumentsOfCalls("npm", "npm publish", answer).filter(([verb]) => verb === "publish");

  test("publishes the package, then the policy pack, with provenance and the version's channel", () => {
    const npmKnowsNoPackage = "if (process.argv[2] === 'view') process.exit(1);";
    expect(publishCalls(npmKnowsNoPackage)).toEqual([
      publishArguments("talos-gpu"),
      publishArguments("talos-gpu-policy"),
    ]);
  });

  test("publishes only the missing packages when it runs again", () => {
    const npmKnowsFirstPackage =
      "if (process.argv[3] === 'talos-gpu@0.2.0-rc.1') console.log('0.2.0-rc.1');";
    expect(publishCalls(npmKnowsFirstPackage)).toEqual([publishArguments("talos-gpu-policy")]);
  });

  test("uses no npm token, because npm trusts the workflow's identity", () => {
    expect(workflow.jobs["publish"]!.permissions).toMatchObject({ "id-token": "write" });
    expect(JSON.stringify(workflow)).not.toMatch(/secrets\.|NODE_AUTH_TOKEN/);
  });

  test("writes checksums of all packages, and attests to them", () => {
    createRepository("0.2.0-rc.1", [], []);
    fs.mkdirSync(path.join(work, "release"));
    for (const name of ["notes.md", "a.tgz", "b.whl"])
      fs.writeFileSync(path.join(work, "release", name), name);
    expect(
      runStep(findStep(workflow, "publish", "sha256sum"), { ...stepOptions, expressions }),
    ).toMatchObject({
      status: 0,
    });
    const sums = fs.readFileSync(path.join(work, "release/SHA256SUMS"), "utf8");
    expect(
      sums
        .trim()
        .split("\n")
        .map((line) => line.split("  ")[1]),
    ).toEqual(["a.tgz", "b.whl"]);
    const attestStep = workflow.jobs["publish"]!.steps!.find(({ uses }) =>
      uses?.includes("attest"),
    );
    expect(attestStep?.with).toEqual({ "subject-checksums": "release/SHA256SUMS" });
  });

  test("creates the tag's GitHub release with notes and schema", () => {
    const [args] = argumentsOfCalls("gh", "gh release");
    expect(args!.slice(0, 4)).toEqual(["release", "create", "v0.2.0-rc.1", "--verify-tag"]);
    expect(args).toEqual(
      expect.arrayContaining(["--notes-file", "notes.md", "--prerelease", "release/schema.json"]),
    );
  });

  test("needs the checks and the environment release, and runs no code of the repository", () => {
    const { checks, pack, plugin, publish } = workflow.jobs;
    expect(checks).toMatchObject({ uses: "./.github/workflows/checks.yml" });
    expect(readWorkflow("checks.yml").on).toHaveProperty("workflow_call");
    expect(publish).toMatchObject({ needs: ["checks", "pack", "plugin"], environment: "release" });
    for (const job of [checks, pack, plugin]) expect(job?.permissions).toBeUndefined();
    // No step of this job runs code of the repository or of a package.
    const steps = publish!.steps!;
    expect(
      steps.some(
        ({ uses, run = "" }) =>
          uses?.startsWith("actions/checkout") || /npm (?:ci|install|run)|node /.test(run),
      ),
    ).toBe(false);
  });
});
