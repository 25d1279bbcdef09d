import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { parseAllDocuments } from "yaml";
import { parseOptions } from "../../lab/options";
import { repository } from "../../stacks/stack-file";
import { blocksOf, pages, read } from "./pages";

const scripts = (
  JSON.parse(fs.readFileSync(path.join(repository, "package.json"), "utf8")) as {
    scripts: Record<string, string>;
  }
).scripts;

/** The built command, which a reader of the page runs. */
const commandFile = path.join(repository, "components/bin/cli.js");

/** This repository's commands on a page: in backticks, or as lines of a shell block. */
function commandsOf(text: string): string[] {
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```/gm, ""); // the fences of a block are not a pair of backticks around code
  const lines = [...text.matchAll(/^ *```sh\n([\s\S]*?)^ *```/gm)].flatMap(([, block]) =>
    block!.replaceAll(/\\\n */g, "").split("\n"),
  );
  const snippets = [...[...prose.matchAll(/`([^`]+)`/g)].map(([, code]) => code!), ...lines];
  return snippets
    .flatMap((code) => code.replace(/\s+#\s.*$/, "").split("&&"))
    .map((code) => code.replace(/\s+/g, " ").trim())
    .filter((code) => /^(?:npm run|npx talos-gpu|npx jest|UPDATE_\w+=1 npx jest)\b/.test(code));
}

const shownCommands = pages.flatMap((page) =>
  commandsOf(read(page)).map((command) => ({ page, command })),
);
const commandsLike = (pattern: RegExp) =>
  shownCommands.filter(({ command }) => pattern.test(command));

/** The words of a shell command, with the quotes that pages use. Optional arguments count as given. */
const wordsOf = (command: string): string[] =>
  command
    .replace(/[[\]]/g, "")
    .match(/(?:"[^"]*"|\S)+/g)!
    .map((word) => word.replaceAll('"', ""));

test("the pages show more than 15 commands", () =>
  expect(shownCommands.length).toBeGreaterThan(15));

test.each(commandsLike(/npx jest/))("$page: `$command` names existing tests", ({ command }) => {
  const tests = wordsOf(command).filter((word) => word.startsWith("tests/"));
  const missing = tests.filter((test) => !exists(test) && !exists(`${test}.test.ts`));
  expect(missing).toEqual([]);
});

test.each(commandsLike(/^npm run/))(
  "$page: `$command` is an existing script with existing options",
  ({ command }) => {
    const [, , script = "", ...rest] = wordsOf(command);
    const options = rest[0] === "--" ? rest.slice(1) : rest;
    expect(Object.keys(scripts)).toContain(script);
    if (script === "lab")
      expect(() =>
        parseOptions(options.map((word) => word.replace(/^FIX$/, "validationMarkers"))),
      ).not.toThrow();
    const verb = / cli\/main\.ts (\S+)/.exec(scripts[script]!)?.[1];
    if (verb !== undefined) expect(unknownOptions(verb, options)).toEqual([]);
  },
);

test.each(commandsLike(/^npx talos-gpu/))(
  "$page: `$command` is an existing verb with existing options",
  ({ command }) => {
    const [, , verb = "", ...options] = wordsOf(command);
    if (verb.startsWith("--")) expect(["--help", "--version"]).toContain(verb);
    else expect(unknownOptions(verb, options)).toEqual([]);
  },
);

const exists = (file: string): boolean => fs.existsSync(path.join(repository, file));

/** Options that are missing in a verb's help. */
function unknownOptions(verb: string, words: string[]): string[] {
  const help = helpOf(verb); // fails if there is no such verb
  return words.filter(
    (word) => word.startsWith("--") && !new RegExp(`^ +${word}\\b`, "m").test(help),
  );
}

const helpTexts = new Map<string, string>();
function helpOf(verb: string): string {
  const help =
    helpTexts.get(verb) ??
    execFileSync(process.execPath, [commandFile, verb, "--help"], { encoding: "utf8" });
  helpTexts.set(verb, help);
  return help;
}

const blocks = pages.flatMap((page) =>
  blocksOf(page, /^ya?ml$/).map((text, index) => [page, index, text] as const),
);

test.each(blocks)("%s: the YAML in block %d can be parsed", (_page, _index, text) => {
  expect(parseAllDocuments(text).flatMap(({ errors }) => errors)).toEqual([]);
});
