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
  const shown = [...[...prose.matchAll(/`([^`]+)`/g)].map(([, code]) => code!), ...lines];
  return shown
    .flatMap((code) => code.replace(/\s+#\s.*$/, "").split("&&"))
    .map((code) => code.replace(/\s+/g, " ").trim())
    .filter((code) => /^(?:npm run|npx talos-gpu|npx jest|UPDATE_\w+=1 npx jest)\b/.test(code));
}

const shown = pages.flatMap((page) =>
  commandsOf(read(page)).map((command) => [page, command] as const),
);

/** The words of a shell command, with the quotes that pages use. Optional arguments count as given. */
const wordsOf = (command: string): string[] =>
  command
    .replace(/[[\]]/g, "")
    .match(/(?:"[^"]*"|\S)+/g)!
    .map((word) => word.replaceAll('"', ""));

test("the pages show more than 15 commands", () => expect(shown.length).toBeGreaterThan(15));

test.each(shown)("%s: `%s` is an existing command with existing options", (_page, command) => {
  const [first, second, third = "", ...rest] = wordsOf(command);
  if (command.includes("npx jest")) {
    const files = wordsOf(command).filter((word) => word.startsWith("tests/"));
    const missing = files.filter(
      (file) => ![file, `${file}.test.ts`].some((one) => fs.existsSync(path.join(repository, one))),
    );
    expect(missing).toEqual([]);
    return;
  }
  const given = rest[0] === "--" ? rest.slice(1) : rest;
  if (first === "npm") {
    expect(Object.keys(scripts)).toContain(third);
    if (third === "lab")
      expect(() =>
        parseOptions(given.map((word) => word.replace(/^FIX$/, "validationMarkers"))),
      ).not.toThrow();
    const verb = / cli\/main\.ts (\S+)/.exec(scripts[third]!)?.[1];
    if (verb !== undefined) expect(unknownOptions(verb, given)).toEqual([]);
  } else {
    expect([first, second]).toEqual(["npx", "talos-gpu"]);
    if (third.startsWith("--")) return expect(["--help", "--version"]).toContain(third);
    expect(unknownOptions(third, given)).toEqual([]);
  }
});

/** Options that are missing in a verb's help. */
function unknownOptions(verb: string, words: string[]): string[] {
  const help = helpOf(verb); // fails if there is no such verb
  return words.filter(
    (word) => word.startsWith("--") && !new RegExp(`^ +${word}\\b`, "m").test(help),
  );
}

const helps = new Map<string, string>();
function helpOf(verb: string): string {
  const help =
    helps.get(verb) ??
    execFileSync(process.execPath, [commandFile, verb, "--help"], { encoding: "utf8" });
  helps.set(verb, help);
  return help;
}

const blocks = pages.flatMap((page) =>
  blocksOf(page, /^ya?ml$/).map((text, index) => [page, index, text] as const),
);

test.each(blocks)("%s: the YAML in block %d can be parsed", (_page, _index, text) => {
  expect(parseAllDocuments(text).flatMap(({ errors }) => errors)).toEqual([]);
});
