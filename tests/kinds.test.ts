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

test("every test file is either a unit test or a test of the lab", () => {
  const files = ["tests", "lab/tests"].flatMap((folder) =>
    fs
      .readdirSync(path.join(repository, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .map((file) => `/${folder}/${file}`),
  );
  expect(files.length).toBeGreaterThan(200);
  const projectsOf = (file: string): string[] =>
    projects.filter((project) => includesFile(project, file)).map(({ displayName }) => displayName);
  const kinds = files.map((file) => ({ file, projects: projectsOf(file) }));
  expect(kinds.filter((kind) => kind.projects.length !== 1)).toEqual([]);
});

/** Helpers that start the command, or a workflow's steps. */
const helpers = [
  "setupCli",
  "runCommand",
  "runDoctor",
  "setupWorkflowRepository",
  "createCheckout",
];

test.each(helpers)(
  "%s, which starts programs, is called in tests, but in no unit test",
  (helper) => {
    const unitProject = projects.find(({ displayName }) => displayName === "unit")!;
    const callers = fs
      .readdirSync(path.join(repository, "tests"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".test.ts"))
      .filter((file) =>
        new RegExp(`\\b${helper}\\(`).test(
          fs.readFileSync(path.join(repository, "tests", file), "utf8"),
        ),
      );
    expect(callers).not.toEqual([]);
    expect(callers.filter((file) => includesFile(unitProject, `/tests/${file}`))).toEqual([]);
  },
);
