import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { gitIn } from "../support/git";
import { read, repository, runStep, standIn, stepOf } from "./runner";

const workflow = read("release.yml");
const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-release-"));
const [work, tools] = [path.join(temp, "work"), path.join(temp, "tools")];
afterAll(() => fs.rmSync(temp, { recursive: true }));

const git = gitIn(work);

/**
 * A repository whose main has both packages at `version`, a changelog of the versions `described`, and these tags.
 */
function released(
  version: string,
  described: string[],
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
  const write = (folder: string, more: object): void =>
    fs.writeFileSync(
      path.join(work, folder, "package.json"),
      JSON.stringify({ version, files: ["bin"], repository: { type: "git", url }, ...more }),
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
    ...described.map((one) => `${one} (2026-11-22)\n\n### Added\n- What ${one} has.\n`),
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

const where = { cwd: work, tools, temp };
const check = (tag: string, repositoryHere = "owner/gpus") => {
  git("tag", "-f", tag);
  return runStep(stepOf(workflow, "pack", "release.js"), {
    ...where,
    expressions: {
      "github.ref_name": tag,
      "github.server_url": "https://github.com",
      "github.repository": repositoryHere,
    },
  });
};

test.each<[string, string, string[], string[], string]>([
  ["v0.2.0", "0.2.0", ["0.2.0", "0.1.0"], ["v0.1.0", "v0.2.0"], "latest"],
  ["v1.0.0-rc.1", "1.0.0-rc.1", ["1.0.0-rc.1"], ["v0.9.0", "v1.0.0-beta.4"], "next"],
  ["v1.0.0", "1.0.0", ["1.0.0"], ["v1.0.0-rc.10", "v0.10.0", "something-else"], "latest"],
])(
  "the tag %s is accepted, and its version, channel and notes are written",
  (tag, version, described, tags, channel) => {
    released(version, described, tags);
    expect(check(tag)).toEqual({
      status: 0,
      said: "",
      output: `version=${version}\nchannel=${channel}\n`,
    });
    const notes = fs.readFileSync(path.join(work, "release/notes.md"), "utf8");
    expect(notes).toBe(`### Added\n- What ${version} has.\n`);
  },
);

test("all faults of a tag are reported together, and nothing is written", () => {
  released("0.2.0", ["0.2.0"], ["v0.10.0"], { onMain: false });
  const { status, said, output } = check("v0.3.0");
  expect([status, output]).toEqual([1, ""]);
  expect(said.trim().split("\n")).toEqual([
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
  released("0.2.0", ["0.2.0"], [], { policy });
  const { status, said } = check("v0.2.0");
  expect([status, said.trim().split("\n")]).toEqual([
    1,
    [
      "v0.2.0: policy/package.json has version 0.1.0; tag the commit whose file has this tag's version",
      "v0.2.0: policy/package.json requires talos-gpu 0.1.0, so npm would install a different release with it; write the version of the tag",
    ],
  ]);
});

test.each(["v1.0", "v01.0.0", "v1.0.0-", "latest"])(
  "the tag %s is refused, because it is not a version",
  (tag) => {
    released("1.0.0", ["1.0.0"], []);
    expect(check(tag)).toMatchObject({
      status: 1,
      said: expect.stringContaining("is not a version") as unknown,
    });
  },
);

test("a tag is refused if the package names a different repository than the one that publishes it", () => {
  released("0.2.0", ["0.2.0"], []);
  expect(check("v0.2.0", "fork/gpus")).toMatchObject({
    status: 1,
    said: expect.stringMatching(
      /^v0\.2\.0: .* names git\+https:\/\/github\.com\/owner\/gpus\.git, not https:\/\/github\.com\/fork\/gpus; run npm run publisher/,
    ) as unknown,
  });
});

test("the workflow's jobs together pack every part that generate/release/pack.js knows", () => {
  const script = fs.readFileSync(path.join(repository, "generate/release/pack.js"), "utf8");
  const known = [.../const parts = \{([^}]*)\}/.exec(script)![1]!.matchAll(/^ {2}(\w+):/gm)].map(
    ([, name]) => name,
  );
  const packed = (["pack", "plugin"] as const).flatMap((job) =>
    stepOf(workflow, job, "pack.js release").run!.split("pack.js release ")[1]!.split(" "),
  );
  // The checksums cover the packed files of all jobs, so the last job makes them.
  expect([...packed, "checksums"].sort()).toEqual([...known].sort());
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
   * The arguments with which a step calls a program, call by call.
   *
   * @param answer JavaScript that the program then runs.
   */
  const called = (name: string, text: string, answer = ""): string[][] => {
    released("0.2.0-rc.1", [], []);
    fs.mkdirSync(path.join(work, "release"));
    fs.writeFileSync(path.join(work, "release/schema.json"), "{}");
    const file = path.join(temp, "called.json");
    fs.writeFileSync(file, "");
    standIn(
      tools,
      name,
      `require("node:fs").appendFileSync(${JSON.stringify(file)}, JSON.stringify(process.argv.slice(2)) + "\\n");${answer}`,
    );
    expect(runStep(stepOf(workflow, "publish", text), { ...where, expressions })).toMatchObject({
      status: 0,
    });
    fs.rmSync(path.join(tools, name));
    const lines = fs.readFileSync(file, "utf8").trim().split("\n");
    return lines.map((line) => JSON.parse(line) as string[]);
  };

  const publishing = (name: string): string[] => [
    ...["publish", `./release/${name}-0.2.0-rc.1.tgz`],
    ...["--provenance", "--access", "public", "--tag", "next"],
  ];
  const published = (answer: string): string[][] =>
    called("npm", "npm publish", answer).filter(([verb]) => verb === "publish");

  test("publishes the package, then the policy pack, with provenance and the version's channel", () => {
    const unknown = "if (process.argv[2] === 'view') process.exit(1);";
    expect(published(unknown)).toEqual([publishing("talos-gpu"), publishing("talos-gpu-policy")]);
  });

  test("publishes only the missing packages when it runs again", () => {
    const first = "if (process.argv[3] === 'talos-gpu@0.2.0-rc.1') console.log('0.2.0-rc.1');";
    expect(published(first)).toEqual([publishing("talos-gpu-policy")]);
  });

  test("uses no npm token, because npm trusts the workflow's identity", () => {
    expect(workflow.jobs["publish"]!.permissions).toMatchObject({ "id-token": "write" });
    expect(JSON.stringify(workflow)).not.toMatch(/secrets\.|NODE_AUTH_TOKEN/);
  });

  test("writes checksums of all packages, and attests to them", () => {
    released("0.2.0-rc.1", [], []);
    fs.mkdirSync(path.join(work, "release"));
    for (const name of ["notes.md", "a.tgz", "b.whl"])
      fs.writeFileSync(path.join(work, "release", name), name);
    expect(
      runStep(stepOf(workflow, "publish", "sha256sum"), { ...where, expressions }),
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
    const attested = workflow.jobs["publish"]!.steps!.find(({ uses }) => uses?.includes("attest"));
    expect(attested?.with).toEqual({ "subject-checksums": "release/SHA256SUMS" });
  });

  test("creates the tag's GitHub release with notes and schema", () => {
    const [args] = called("gh", "gh release");
    expect(args!.slice(0, 4)).toEqual(["release", "create", "v0.2.0-rc.1", "--verify-tag"]);
    expect(args).toEqual(
      expect.arrayContaining(["--notes-file", "notes.md", "--prerelease", "release/schema.json"]),
    );
  });

  test("needs the checks and the environment release, and runs no code of the repository", () => {
    const { checks, pack, plugin, publish } = workflow.jobs;
    expect(checks).toMatchObject({ uses: "./.github/workflows/checks.yml" });
    expect(read("checks.yml").on).toHaveProperty("workflow_call");
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
