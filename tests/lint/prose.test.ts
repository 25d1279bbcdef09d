import { type ESLint, Linter } from "eslint";

// Plain JavaScript, since ESLint's settings load it.
type Flaw = { message: string };
type Prose = { text: string };
/* eslint-disable @typescript-eslint/no-require-imports */
const { proseOfFile } = require("../../lint/files.js") as {
  proseOfFile: (name: string, read: () => string) => Prose[];
};
const { flawsOf, longest, longestPart, proseOfComment, proseOfPage, proseOfString } =
  require("../../lint/prose.js") as {
    flawsOf: (
      text: string,
      prose?: Partial<Prose> & { byLine?: boolean; parts?: boolean },
    ) => Flaw[];
    longest: number;
    longestPart: number;
  } & Record<"proseOfComment" | "proseOfPage" | "proseOfString", (text: string) => string>;
const { phrases } = require("../../lint/words.js") as {
  phrases: { name: string; better: string; bad: string[]; good: string[] }[];
};
const prose = require("../../lint/rule.js") as ESLint.Plugin;
/* eslint-enable @typescript-eslint/no-require-imports */

describe.each(phrases)("the rule “$name”", ({ bad, good, better }) => {
  test.each(bad)("refuses: %s", (sentence) => {
    expect(flawsOf(sentence).map(({ message }) => message)).toEqual([
      expect.stringContaining(`write ${better}`),
    ]);
  });

  test.each(good)("accepts: %s", (sentence) => {
    expect(flawsOf(sentence)).toEqual([]);
  });
});

const words = (count: number) => Array.from({ length: count }, () => "word").join(" ");

test.each([
  ["a sentence of the greatest length", words(longest)],
  ["two sentences", `${words(longest)}. ${words(longest)}.`],
  ["a colon and a semicolon between thoughts", `${words(20)}: ${words(20)}; ${words(20)}`],
  ["items of a list", `- ${words(20)}\n- ${words(20)}`],
  ["paragraphs", `${words(20)}\n\n${words(20)}`],
  ["cells of a table", `| ${words(20)} | ${words(20)} |`],
  ["a source in parentheses", `${words(20)} (talos v1.13.0, ${words(20)}) ${words(5)}.`],
  ["a sentence with an abbreviation", `${words(20)}, e.g. ${words(4)}.`],
])("the limit on words accepts %s", (_, text) => {
  expect(flawsOf(text)).toEqual([]);
});

test.each([
  ["a sentence with one word too many", words(longest + 1), longest + 1],
  ["a long sentence over several lines", `${words(20)}\n${words(20)}`, 40],
  ["a long sentence with an abbreviation", `${words(20)}, e.g. ${words(20)}`, 41],
])("the limit on words refuses %s", (_, text, count) => {
  expect(flawsOf(text).map(({ message }) => message)).toEqual([
    `a sentence of ${count} words: write one thought per sentence, in at most ${longest} words`,
  ]);
});

// How the rule reads a text. In a message each line ends a sentence, and a part has a limit of words.
const asMessage = { byLine: true };
const asComment = { byLine: false };
/** A test's quote of another program's message. */
const asQuote = { byLine: true, parts: false };

test.each([
  ["a semicolon", `${words(20)}; ${words(20)}`],
  ["a full stop", `${words(20)}. ${words(20)}.`],
  ["a source in parentheses", `${words(25)} (talos v1.13.0, ${words(20)})`],
])("a part of a message ends with %s", (_, text) => {
  expect(flawsOf(text, asMessage)).toEqual([]);
});

describe("a long part", () => {
  const longPart = `${words(20)}: ${words(longestPart - 19)}`;

  test("is refused in a message, also with a colon in it", () => {
    expect(flawsOf(longPart, asMessage).map(({ message }) => message)).toEqual([
      `a part of a message of ${longestPart + 1} words: split it, since a part has at most ${longestPart} words`,
    ]);
  });

  test.each([
    ["a comment or a page", asComment],
    ["a test's quote of another program", asQuote],
  ])("is accepted in %s", (_, kind) => {
    expect(flawsOf(longPart, kind)).toEqual([]);
  });
});

test("code, links and tags are masked by text of the same length", () => {
  for (const [maskedText, text] of [
    [proseOfComment, "/** Writes `is told` {@link somebody} https://example.org/nobody. */"],
    [proseOfComment, " * A phrase:\n *     somebody shall\n"],
    [
      proseOfPage,
      "---\ntitle: somebody\n---\n```\nnobody shall\n```\n[a link](charts/beside/x.yaml)\n",
    ],
    [proseOfString, '"a `nobody` of ${somebody.name("shall")}"'],
  ] as const) {
    const masked = maskedText(text);
    expect(flawsOf(masked)).toEqual([]);
    expect(masked).toHaveLength(text.length);
  }
});

test.each([
  ["docs/use.md", "It is for ever."],
  ["lab/main.go", "package main // It waits for ever.\n"],
  ["lab/main.go", 'var text = "It waits for ever."\n'],
  ["data.json", '{ "why": "It waits for ever." }'],
  ["values.yaml", "why: It waits for ever.\n"],
  ["values.yml", "# It waits\n# for ever.\n"],
  ["run.sh", "# It waits for ever.\n"],
])("a phrase is found in %s: %j", (name, text) => {
  expect(
    proseOfFile(name, () => text).flatMap((prosePart) => flawsOf(prosePart.text, prosePart)),
  ).toEqual([
    expect.objectContaining({ message: expect.stringMatching(/^"for ever": write forever/) }),
  ]);
});

test.each([
  ["package-lock.json", '{ "a": "for ever and ever" }'],
  ["logo.png", "for ever"],
  ["values.yaml", "beside: [a, b]\n"],
])("no phrase is found in %s, which has no prose here: %j", (name, text) => {
  expect(
    proseOfFile(name, () => text).flatMap((prosePart) => flawsOf(prosePart.text, prosePart)),
  ).toEqual([]);
});

describe("the ESLint rule", () => {
  const flawsIn = (code: string) =>
    new Linter()
      .verify(code, [{ plugins: { prose }, rules: { "prose/plain-words": "error" } }])
      .map(({ line, column, message }) => `${line}:${column} ${message}`);

  test.each([
    ["a comment over two lines", "// What waits\n// for ever\n", "2:4"],
    ["a docstring", "/**\n * It waits for ever.\n */\nfoo();\n", "2:13"],
    ["a string", 'foo("waits for ever");\n', "1:12"],
    ["a template", "foo(`${a} waits for ever`);\n", "1:17"],
    ["strings that are joined", 'foo("waits for " +\n  "ever");\n', "1:12"],
  ])("finds a phrase in %s", (_, code, place) => {
    expect(flawsIn(code)).toEqual([expect.stringMatching(new RegExp(`^${place} "for`))]);
  });

  test("does not read names, keys and single words", () => {
    expect(flawsIn('foo(somebody.nobody, { shall: "nobody" });\n')).toEqual([]);
  });
});
