import * as fs from "node:fs";
import * as path from "node:path";
import { repository } from "../stacks/stack-file";

interface Project {
  displayName: string;
  testMatch?: string[];
  testRegex?: string[];
  testPathIgnorePatterns?: string[];
}

// eslint-disable-next-line @typescript-eslint/no-require-imports
const { projects } = require("../jest.config.js") as { projects: Project[] };

const includesFile = (
  { testRegex, testPathIgnorePatterns = [] }: Project,
  file: string,
): boolean =>
  testRegex === undefined
    ? file.startsWith("/tests/") &&
      !testPathIgnorePatterns.some((part) => new RegExp(part).test(file))
    : testRegex.some((part) => new RegExp(part).test(file));

test("every test file belongs to exactly one of the two kinds", () => {
  const files = ["tests", "lab/tests"].flatMap((folder) =>
    fs
      .readdirSync(path.join(repository, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => `/${folder}/${file}`),
  );
  const kinds = files.map((file) => [
    file,
    projects.filter((project) => includesFile(project, file)).length,
  ]);
  expect(kinds.length).toBeGreaterThan(200);
  expect(kinds.filter(([, count]) => count !== 1)).toEqual([]);
});

test("no unit test starts the command or a workflow's steps", () => {
  const startsCommand = /\b(?:setUpCli|runCommand|runDoctor|workflowStand|checkout)\(/;
  const unitProject = projects.find(({ displayName }) => displayName === "unit")!;
  const wrongFiles = fs
    .readdirSync(path.join(repository, "tests"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts") && includesFile(unitProject, `/tests/${file}`))
    .filter((file) =>
      startsCommand.test(fs.readFileSync(path.join(repository, "tests", file), "utf8")),
    );
  expect(wrongFiles).toEqual([]);
});
