import { functions } from "../../cli/import/topf/go-functions";
import { secretValues } from "../../components/clients/secret-files";
import { sameConfiguration, valuesOf } from "../../components/clients/talos/configuration-text";
import { schematicOf } from "../../components/recipe";
import { patchFindings } from "../../components/recipe/machine/patch-findings";
import { talosDocuments, yamlIn } from "../../components/recipe/rules/yaml";
import { ofServers } from "../../components/recipe/rules/yaml-bounds";
import { files, read as readSource } from "../docs/pages";
import { startTokenCount } from "../support/parser-tokens";

/**
 * Short texts that would keep a parser busy for seconds, or fill its memory. Each number gives other texts, because a
 * reader remembers the texts that it has parsed.
 */
const hostileTexts = (number: number): Record<string, string> => ({
  brackets: `x: ${"[".repeat(400_000 + number)}`,
  blanks: `x: ${"\n".repeat(1_000_000 + number)}`,
  anchors: "&a ".repeat(300_000 + number),
  entries: `[${"a,".repeat(400_000 + number)}]`,
  aliases: Array.from(
    { length: 40 + number },
    (_, level) =>
      `a${level}: &a${level} [${`${level === 0 ? "x" : `*a${level - 1}`}, `.repeat(9)}]`,
  ).join("\n"),
});

/** Readers of YAML from others that no test of a verb covers. */
const readers: Record<string, (text: string) => unknown> = {
  "the secrets of credentials": secretValues,
  "a machine's configuration": valuesOf,
  "an extension's text": (text) => schematicOf({ extensions: [text], kernelArgs: [] }),
  "a manifest in a patch": (text) =>
    patchFindings(
      talosDocuments(
        JSON.stringify({ cluster: { inlineManifests: [{ name: "a", contents: text }] } }),
      ),
      { minor: 12, isKnown: true },
    ),
  "a value from outside the package": yamlIn,
  "the argument of a template's `fromYaml`": (text) => functions["fromYaml"]!(text),
};

test("the token counter counts every token, and none after it has ended", () => {
  const countTokens = startTokenCount();
  yamlIn("a: [b]");
  const countAfterFirstText = countTokens();
  yamlIn("c: d");
  expect(countAfterFirstText).toBeGreaterThan(4);
  expect(countTokens()).toBe(countAfterFirstText);
});

test.each(
  Object.entries(readers).flatMap(([reader, read], index) =>
    Object.entries(hostileTexts(index + 1)).map(
      ([kind, text]) => [reader, kind, read, text] as const,
    ),
  ),
)("reading %s with very many %s stops at the limit of tokens", (_, __, read, text) => {
  const countTokens = startTokenCount();
  try {
    read(text);
  } catch (error) {
    expect((error as Error).message).toMatch(/it has more than|nested more than/);
  }
  const count = countTokens();
  // An extension's text of several lines is written in quotes, without a parser.
  if (!text.includes("\n")) expect(count).toBeGreaterThan(0);
  expect(count).toBeLessThanOrEqual(ofServers.tokens);
});

test("comparing two configurations that cannot be read is an error", () => {
  const { entries = "" } = hostileTexts(Object.keys(readers).length + 1);
  expect(() => sameConfiguration(entries, `${entries}\n# more`)).toThrow(
    "the machine's configuration cannot be read: it has more than",
  );
});

/** Readers of texts that this package has written or checked before. */
const readersOfOwnTexts = ["cli/write-stack.ts", "policy/policies/machines.ts"];

test("only two files, which read the package's own texts, parse YAML without the limit", () => {
  const filesWithoutLimit = files.filter((file) => {
    if (!/^(components|cli|policy|stacks)\/.*(?<!\.d)\.ts$/.test(file)) return false;
    const importedNames = /import \{([^}]*)\} from "yaml"/.exec(readSource(file))?.[1] ?? "";
    return /\bparse(Document|AllDocuments)?\b/.test(importedNames);
  });
  expect(filesWithoutLimit).toEqual(readersOfOwnTexts);
});
