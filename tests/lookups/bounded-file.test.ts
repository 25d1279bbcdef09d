import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import {
  beginningOf,
  boundedText,
  largestFile,
  projectRootOf,
  readTextWithin,
} from "../../components/lookups/bounded-file";
import { withExternal } from "../../components/lookups/external-files";

const temporaryFolder = fs.realpathSync(
  fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-bounded-")),
);
const project = path.join(temporaryFolder, "project");
const stackFolder = path.join(project, "stacks");
const secretFile = path.join(temporaryFolder, "secret.yaml");

beforeAll(() => {
  fs.mkdirSync(path.join(project, "flux"), { recursive: true });
  fs.mkdirSync(stackFolder);
  fs.mkdirSync(path.join(project, ".git"));
  fs.writeFileSync(secretFile, "auths: { d: s3cr3t }\n");
  fs.writeFileSync(path.join(project, "flux/release.yaml"), "driver: { enabled: false }\n");
  fs.writeFileSync(path.join(project, "flux/full.yaml"), "#".repeat(largestFile));
  fs.writeFileSync(path.join(project, "flux/large.yaml"), "#".repeat(largestFile + 1));
  fs.symlinkSync("release.yaml", path.join(project, "flux/link.yaml"));
  fs.symlinkSync(secretFile, path.join(project, "flux/leak.yaml"));
  fs.symlinkSync(temporaryFolder, path.join(project, "flux/up"));
  fs.symlinkSync("/dev/zero", path.join(project, "flux/zero.yaml"));
  execFileSync("mkfifo", [path.join(project, "flux/pipe.yaml")]);
});
afterAll(() => fs.rmSync(temporaryFolder, { recursive: true }));

describe("a file that another file names", () => {
  test.each(["flux/release.yaml", "flux/link.yaml", "stacks/../flux/full.yaml"])(
    "is read: %s",
    (file) => expect(readTextWithin(project, path.join(project, file))).not.toBe(""),
  );

  test.each([
    ["an absolute path outside", secretFile, /^it is outside of /],
    ["a path upwards", path.join(project, "flux/../../secret.yaml"), /^it is outside of /],
    [
      "a path upwards to a missing file",
      path.join(project, "../nothing.yaml"),
      /^it is outside of /,
    ],
    ["a link that leads out", path.join(project, "flux/leak.yaml"), /^it is outside of /],
    [
      "a folder's link that leads out",
      path.join(project, "flux/up/secret.yaml"),
      /^it is outside of /,
    ],
    ["a link to a device", path.join(project, "flux/zero.yaml"), /^it is outside of /],
    [
      "a file of more than 1 MiB",
      path.join(project, "flux/large.yaml"),
      /^it has more than 1 MiB$/,
    ],
    ["a folder", path.join(project, "flux"), /^it is no plain file$/],
    ["a pipe", path.join(project, "flux/pipe.yaml"), /^it is no plain file$/],
    ["a path with a null byte", path.join(project, "flux/a\0.yaml"), /null bytes/],
  ])("is refused if it is %s", (_, file, reason) =>
    expect(() => readTextWithin(project, file)).toThrow(reason),
  );

  test.each([
    ["a device", "/dev/zero"],
    ["a pipe", path.join(project, "flux/pipe.yaml")],
    ["a folder", project],
  ])("is refused if it is %s, also without a folder that must contain it", (_, file) =>
    expect(() => boundedText(file)).toThrow(/^it is no plain file$/),
  );

  test("is read up to the size limit if it is too large", () => {
    const { text, isWhole } = beginningOf(path.join(project, "flux/large.yaml"));
    expect(text).toHaveLength(largestFile);
    expect(isWhole).toBe(false);
    expect(beginningOf(path.join(project, "flux/full.yaml"))).toMatchObject({ isWhole: true });
  });

  test("is refused if it is a device, even inside the folder", () =>
    expect(() => readTextWithin("/dev", "/dev/zero")).toThrow(/^it is no plain file$/));
});

describe("the folder that must contain the named files", () => {
  test("is the repository's root", () => expect(projectRootOf(stackFolder)).toBe(project));

  test("is the Pulumi project's if there is no repository, or the stack's own without a project", () => {
    const projectWithoutRepository = path.join(temporaryFolder, "alone");
    const folderOfStacks = path.join(projectWithoutRepository, "stacks");
    fs.mkdirSync(folderOfStacks, { recursive: true });
    expect(projectRootOf(folderOfStacks)).toBe(folderOfStacks);
    fs.writeFileSync(path.join(projectWithoutRepository, "Pulumi.yaml"), "");
    expect(projectRootOf(folderOfStacks)).toBe(projectWithoutRepository);
  });
});

describe("external.files of a stack", () => {
  const readExternalFiles = (...files: string[]) =>
    withExternal({ external: { kind: "gpuOperator", files } }, stackFolder);

  test("are read inside the repository", () =>
    expect(readExternalFiles("../flux/release.yaml")).toMatchObject({
      external: { read: { values: { driver: { enabled: false } } } },
    }));

  test.each([
    secretFile,
    "../../secret.yaml",
    "../flux/leak.yaml",
    "../flux/zero.yaml",
    "../flux/large.yaml",
  ])("are reported with the reason instead of being read: %s", (file) => {
    const result = JSON.stringify(readExternalFiles(file));
    expect(result).toContain(`${file} cannot be read (it `);
    expect(result).not.toContain("s3cr3t");
  });
});
