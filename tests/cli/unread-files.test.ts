import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { stringify } from "yaml";
import type { FileFinding } from "../../cli/check/judge-files";
import { check } from "../../cli/check/verb";
import { importFiles } from "../../cli/import/verb";
import { repositoryFactory, runVerb } from "./support";

const makeRepository = repositoryFactory();

const folders: string[] = [];
afterAll(() => folders.forEach((folder) => fs.rmSync(folder, { recursive: true })));

/** A talconfig that refers to a patch file, and has a faulty patch of its own. */
const talconfig = (patchFile: string, otherFields: object = {}): string =>
  stringify({
    talosVersion: "v1.13.6",
    nodes: [
      {
        hostname: "gpu",
        ipAddress: "192.0.2.1",
        controlPlane: true,
        kernelModules: [{ name: "nvidia" }],
      },
    ],
    patches: [`@${patchFile}`, "machine:\n  sysctl: {}\n"],
    ...otherFields,
  });

async function checkFile(file: string, ...argv: string[]) {
  const { status, stdout } = await runVerb("check", check, [file, "--json", ...argv]);
  const { findings, unread } = JSON.parse(stdout) as {
    findings: FileFinding[];
    unread: { file: string; problem: string }[];
  };
  return {
    status,
    problems: findings.map(({ problem }) => problem),
    unread: unread.map(({ problem }) => problem),
  };
}

describe("a file that a talconfig names", () => {
  const sopsBinary = JSON.stringify({
    data: "ENC[AES256_GCM,data:a,type:str]",
    sops: { mac: "ENC[AES256_GCM,data:b]" },
  });
  const patch = "machine: {}\n";

  test.each<[string, string, Record<string, string | Buffer>, RegExp]>([
    [
      "clustertool",
      "./patches/all.yaml",
      { "clusterenv.yaml": "A: b\n" },
      /run `clustertool genconfig`/,
    ],
    ["talhelper", "./clusterconfig/x.yaml", {}, /run `talhelper genconfig`/],
    [
      "a template",
      "./patches/x.yaml",
      { "talos/patches/x.yaml.j2": patch },
      /`minijinja-cli \S*talos\/patches\/x\.yaml\.j2 > \S*patches\/x\.yaml`/,
    ],
    [
      "SOPS",
      "./patches/x.yaml",
      { "talos/patches/x.sops.yaml": sopsBinary },
      /`sops --decrypt \S*x\.sops\.yaml > \S*x\.yaml`/,
    ],
    [
      "topf",
      "./output/gpu.yaml",
      { "talos/topf.yaml": "nodes: []\n" },
      /run `topf render -o \S*output`/,
    ],
    [
      "an unknown tool",
      "./patches/x.yaml",
      {},
      /create or fetch the file as your repository's documentation says/,
    ],
  ])(
    "is reported if it is missing, with the command that creates it: %s",
    async (_, name, files, command) => {
      const folder = makeRepository({ "talos/talconfig.yaml": talconfig(name), ...files });
      const file = path.join(folder, "talos/talconfig.yaml");
      const { status, problems, unread } = await checkFile(file);
      expect({ status, problems, unread }).toEqual({
        status: 1,
        problems: [expect.stringMatching(/^machine\.sysctl is not a field/)],
        unread: [
          expect.stringMatching(
            /^patches refers to \S+, which does not exist; the result lacks the settings/,
          ),
        ],
      });
      expect(unread[0]).toMatch(command);
      const importResult = await runVerb("import", importFiles, [file, "--gpu=gpu=L4"]);
      expect(importResult.stdout).toContain("model: L4");
      expect(importResult.status).toBe(1);
      expect(importResult.stderr).toMatch(command);
      expect(`${unread.join()}${importResult.stderr}`).not.toMatch(/take it out/);
    },
  );

  test.each<[string, string | Buffer, RegExp]>([
    [
      "git-crypt",
      Buffer.from("\0GITCRYPT\0abcdefgh"),
      /git-crypt has encrypted it.*run `git-crypt unlock`/,
    ],
    [
      "SOPS as a whole",
      sopsBinary,
      /SOPS has encrypted the whole file.*`sops --decrypt \S+x\.yaml` prints its text/,
    ],
  ])("is reported as encrypted by %s, instead of being checked", async (_, content, message) => {
    const folder = makeRepository({ "talconfig.yaml": talconfig("./x.yaml"), "x.yaml": content });
    const { problems, unread } = await checkFile(path.join(folder, "talconfig.yaml"));
    expect(problems).toEqual([expect.stringMatching(/^machine\.sysctl/)]);
    expect(unread).toEqual([expect.stringMatching(message)]);
  });

  test("is read by its path without @ if it exists", async () => {
    const folder = makeRepository({
      "talconfig.yaml": talconfig("./x.yaml").replace('"@./x.yaml"', "./x.yaml"),
      "x.yaml": "machine:\n  nodeLabel: {}\n",
    });
    expect(fs.readFileSync(path.join(folder, "talconfig.yaml"), "utf8")).toMatch(/- \.\/x\.yaml$/m);
    const { problems } = await checkFile(path.join(folder, "talconfig.yaml"));
    expect(problems.sort()).toEqual([
      expect.stringMatching(/^machine\.nodeLabel is not a field/),
      expect.stringMatching(/^machine\.sysctl is not a field/),
    ]);
  });

  test("is reported for each of two machineFiles if it is missing, and so is the path that both write", async () => {
    const part = {
      path: "/etc/cri/conf.d/20-customization.part",
      op: "create",
      content: "@./part.toml",
    };
    const folder = makeRepository({
      "talconfig.yaml": talconfig("./x.yaml", { controlPlane: { machineFiles: [part, part] } }),
    });
    const { problems, unread } = await checkFile(path.join(folder, "talconfig.yaml"));
    expect(unread.filter((problem) => problem.startsWith("machineFiles refers to "))).toHaveLength(
      2,
    );
    expect(problems).toContainEqual(
      expect.stringContaining("20-customization.part is written again"),
    );
  });

  test("is reported by import if it is outside of the repository", async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "unread-"));
    folders.push(folder);
    fs.mkdirSync(path.join(folder, "talos"));
    fs.writeFileSync(path.join(folder, "x.yaml"), "machine: {}\n");
    const file = path.join(folder, "talos/talconfig.yaml");
    fs.writeFileSync(file, talconfig("../x.yaml"));
    const { stdout, stderr } = await runVerb("import", importFiles, [file, "--gpu=gpu=L4"]);
    expect(stdout).toContain("model: L4");
    expect(stderr).toMatch(
      /FILE: patches refers to \S*x\.yaml, which cannot be read \(it is outside of .*git repository/,
    );
  });
});

test("a missing file argument is reported with the command that creates the file", async () => {
  const folder = makeRepository({});
  const file = path.join(folder, "clusterconfig/gpu.yaml");
  expect((await checkFile(file)).unread).toEqual([
    expect.stringMatching(/ENOENT\); run `talhelper genconfig`/),
  ]);
  await expect(runVerb("import", importFiles, [file])).rejects.toThrow(
    /ENOENT.*run `talhelper genconfig`/,
  );
});

describe("the variables of a talconfig", () => {
  const text = talconfig("./x.yaml", { worker: {}, patches: ["machine:\n  ${MY_SECRET}: {}\n"] });
  const run = (file: string, ...argv: string[]) =>
    runVerb("check", check, [file, ...argv], { MY_SECRET: "s3cr3t", OTHER: "0ther" });

  test("are filled in by check only with --env, which refuses an unset variable", async () => {
    const folder = makeRepository({ "talconfig.yaml": text });
    for (const format of ["text", "github", "sarif"]) {
      const { stdout, stderr } = await run(folder, `--format=${format}`);
      expect(stdout + stderr).not.toContain("s3cr3t");
    }
    const withVariable = await run(folder, "--env=MY_SECRET");
    expect(withVariable.stdout).toContain("machine.s3cr3t is not a field");
    await expect(run(folder, "--env=UNSET")).rejects.toThrow(/^--env: UNSET is not set/);
  });

  test("are filled in by import only with --env", async () => {
    const folder = makeRepository({
      "talconfig.yaml": talconfig("./x.yaml").replace("192.0.2.1", "${MY_ADDRESS}"),
    });
    const runImport = (...argv: string[]) =>
      runVerb("import", importFiles, [folder, "--gpu=gpu=L4", ...argv], {
        MY_ADDRESS: "192.0.2.99",
      });
    const { stdout, stderr } = await runImport();
    expect(stdout + stderr).not.toContain("192.0.2.99");
    // The rest can be planned. clustertool keeps addresses in an encrypted file.
    expect(stdout).toContain("address: gpu\n");
    expect(stderr).toMatch(
      /machines\.gpu\.address: contains a variable .*, so the stack uses the name gpu .*\(--env-file\)/,
    );
    expect((await runImport("--env=MY_ADDRESS")).stdout).toContain("address: 192.0.2.99");
  });

  const files = { "talos/talconfig.yaml": text, "clusterenv.yaml": "MY_SECRET: shown\n" };

  test("are filled in from --env-file", async () => {
    const folder = makeRepository(files);
    const file = path.join(folder, "talos/talconfig.yaml");
    expect((await run(file)).stdout).not.toContain("shown");
    const withEnvFile = await run(file, "--env-file", path.join(folder, "clusterenv.yaml"));
    expect(withEnvFile.stdout).toContain("machine.shown is not a field");
  });

  test("are filled in from the project's talenv.yaml", async () => {
    const folder = makeRepository({ ...files, "talos/talenv.yaml": "MY_SECRET: shown\n" });
    const { stdout } = await run(path.join(folder, "talos/talconfig.yaml"));
    expect(stdout).toContain("machine.shown is not a field");
  });

  test("are not read from a talenv.yaml that is a link out of the repository", async () => {
    const folder = makeRepository(files);
    const outside = makeRepository({ "config.json": '{"MY_SECRET": "s3cr3t"}' });
    fs.symlinkSync(path.join(outside, "config.json"), path.join(folder, "talos/talenv.yaml"));
    const { stdout, stderr } = await run(path.join(folder, "talos/talconfig.yaml"));
    expect(stdout + stderr).not.toContain("s3cr3t");
    expect(stderr).toMatch(
      /variables refers to \S*talenv\.yaml, which cannot be read \(it is outside of/,
    );
  });
});
