/**
 * Finds what slows a reader down: the phrases of `words.js`, and sentences that are too long.
 *
 * @typedef {{ index: number; length: number; message: string }} Flaw A place in a text, and what to write instead.
 * @typedef {{ start: number; text: string; byLine?: boolean }} Prose A part of a file that a person reads. Marks and code are masked at the same length,
 *   so places in it are places in the file.
 */
const { phrases } = require("./words");

/** The longest sentence, in words. A colon or a semicolon ends a sentence here, since it also ends a thought. */
const longest = 25;

/** The longest part of a message, in words: from one semicolon to the next, so that colons and commas cannot pile up. */
const longestPart = 30;

const compiled = phrases.map(({ pattern, better }) => ({ regex: regexOf(pattern), better }));

/** A phrase as a whole, in words of its own; a blank in the pattern stands for any white space. */
function regexOf(pattern) {
  return new RegExp(`(?<![\\w/.-])${pattern.replaceAll(" ", "\\s+")}(?![\\w-])`, "gi");
}

/**
 * @param {string} text
 * @param {{ sentences?: boolean; byLine?: boolean; parts?: boolean }} [options] `sentences: false` for texts that are no sentences, such as values; `parts: false` for messages of other programs.
 * @returns {Flaw[]} in their order
 */
function flawsOf(text, { sentences = true, byLine = false, parts = byLine } = {}) {
  const flaws = compiled.flatMap(({ regex, better }) =>
    [...text.matchAll(regex)].map((match) => ({
      index: match.index,
      length: match[0].length,
      message: `"${match[0].replaceAll(/\s+/g, " ")}": write ${better}`,
    })),
  );
  for (const { index, sentence } of sentences ? sentencesOf(text, byLine) : []) {
    const words = countOf(sentence);
    if (words > longest) {
      const message = `a sentence of ${words} words: write one thought per sentence, in at most ${longest} words`;
      flaws.push({ index, length: sentence.length, message });
    }
  }
  for (const { index, part } of parts && byLine ? partsOf(text) : []) {
    const words = countOf(part);
    if (words > longestPart) {
      const message = `a part of a message of ${words} words: split it, since a part has at most ${longestPart} words`;
      flaws.push({ index, length: part.length, message });
    }
  }
  return flaws.sort((a, b) => a.index - b.index);
}

/** Number of words in a text. */
function countOf(text) {
  return text.split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).length;
}

/** The parts of a message, with their places in it: they end with a semicolon, a full stop or the line. */
function partsOf(text) {
  const plain = maskSources(text);
  const parts = [...plain.matchAll(/(?:[^;.!?\n]|[;.!?](?!\s|$))+/g)];
  return parts.map(({ index, 0: part }) => ({ index, part }));
}

/** Ends of sentences: full stops and the like, blank lines, cells of tables, items of lists, tags of docstrings, dashes between clauses. */
const end = new RegExp(
  [
    String.raw`[.!?:;]["')\]*_]*(?=\s)`,
    String.raw`\n[ \t]*(?=\n)`,
    String.raw`\s\|(?=\s)`,
    String.raw`\n(?=[ \t]*(?:[-*+#@>|]|\d+\.)[ \t\w])`,
    String.raw`\s[–—](?=\s)`,
  ].join("|"),
  "g",
);

/** A source in parentheses: it names a file, a release or an issue. */
const source =
  /\((?=[^()]*(?:\/|\d\.\d|#\d|\.(?:go|ts|js|py|ya?ml|json)\b))[^()]*(?:\([^()]*\)[^()]*)*\)/g;

/**
 * The sentences of a text, with their places in it. Sources in parentheses belong to none: `(talos v1.13.0, internal/app/…)`.
 *
 * @param {string} text
 * @param {boolean} [byLine] Each line ends a sentence, as in a table of options or in code.
 */
function sentencesOf(text, byLine = false) {
  const sentences = [];
  const plain = maskSources(text);
  const ends = byLine ? new RegExp(`${end.source}|\\n`, "g") : end;
  let start = 0;
  for (const match of [...plain.matchAll(ends), { index: plain.length, 0: "" }]) {
    const stop = match.index + match[0].length;
    const whole = plain.slice(start, stop);
    const sentence = whole.trim();
    const lead = whole.length - whole.trimStart().length;
    if (sentence !== "") sentences.push({ index: start + lead, sentence });
    start = stop;
  }
  return sentences;
}

/** Masks sources in parentheses, and the full stops of abbreviations. */
function maskSources(text) {
  return mask(text, source).replaceAll(/\b(?:e\.g|i\.e|etc|vs|cf|no)\./gi, (short) =>
    short.replaceAll(".", "_"),
  );
}

/** Masks what a pattern finds, and keeps its length and its lines. */
function mask(text, pattern, replacement = " ") {
  return text.replaceAll(pattern, (match) => match.replaceAll(/[^\n]/g, replacement));
}

/** Masks code spans, targets of links, and addresses; each stays one word. */
function maskCode(text) {
  return [
    /`[^`\n]*(?:\n[^`\n]+)?`/g,
    /\]\([^)\s]*\)/g,
    /https?:\/\/[^\s)]+/g,
    /\{@link [^}]*\}/g,
  ].reduce((masked, pattern) => mask(masked, pattern, "x"), text);
}

/** A comment: its marks at the beginnings of lines are masked, and lines of code, which are further in. */
function proseOfComment(text) {
  const prose = mask(text, /^[ \t]*(?:\*|\/\/|#)(?: {3,}|\t).*$/gm);
  return maskCode(mask(prose, /^#!.*|^[ \t]*(?:\/\*\*?|\*\/|\*(?!\*)|\/\/+|#+)|\*\/$/gm));
}

/** A string or template, with its quotes; also several that `+` joins. */
function proseOfString(text) {
  let masked = mask(text, /\$\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}/g, "x");
  masked = masked
    .replaceAll("\\n", "\n ")
    .replaceAll("\\`", " `")
    .replaceAll(/\\[^\n]/g, "x ");
  return maskCode(mask(masked, /^["'`]|["'`]$|["'`]\s*\+\s*["'`]/g));
}

/** A page in Markdown: its front matter, blocks of code and tags are masked. */
function proseOfPage(text) {
  return maskCode(
    [
      /^---\n[\s\S]*?\n---$/gm,
      /^[ \t]*(```|~~~)[\s\S]*?^[ \t]*\1/gm,
      /^(?: {4}|\t)(?![-*\d]).*$/gm,
      /<code>[^<]*<\/code>|<[^>]+>/g,
    ].reduce((masked, pattern) => mask(masked, pattern), text),
  );
}

/**
 * The prose of a program, by the places of its comments and strings.
 *
 * @param {string} text
 * @param {{ comments: [number, number][]; strings: [number, number][] }} places
 * @returns {Prose[]}
 */
function proseOfProgram(text, { comments, strings }) {
  const lineAfterLine = (gap, next) => /^[ \t]*\n[ \t]*$/.test(gap) && text.startsWith("//", next);
  return [
    ...joined(text, comments, lineAfterLine).map(([start, stop]) => ({
      start,
      text: proseOfComment(text.slice(start, stop)),
    })),
    ...joined(text, strings, (gap) => /^\s*\+\s*$/.test(gap))
      .map(([start, stop]) => ({
        start,
        text: proseOfString(text.slice(start, stop)),
        byLine: true,
      }))
      .filter((prose) => /\S\s+\S/.test(prose.text)),
  ];
}

/** Places in their order; those that belong together are one. */
function joined(text, places, belongsTogether) {
  const joinedPlaces = [];
  for (const [start, stop] of [...places].sort(([a], [b]) => a - b)) {
    const last = joinedPlaces.at(-1);
    if (last && start < last[1]) continue; // a string within a template
    if (last && belongsTogether(text.slice(last[1], start), start)) last[1] = stop;
    else joinedPlaces.push([start, stop]);
  }
  return joinedPlaces;
}

module.exports = {
  flawsOf,
  longest,
  longestPart,
  mask,
  proseOfComment,
  proseOfPage,
  proseOfProgram,
  proseOfString,
  sentencesOf,
};
