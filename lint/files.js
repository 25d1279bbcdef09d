/** The prose of files that ESLint does not read. */
const { proseOfComment, proseOfPage, proseOfString } = require("./prose");

/** Files of other programs and people, and what is generated from sources that are read. */
const foreign = [
  /(?:^|\/)package-lock\.json$/,
  /^CODE_OF_CONDUCT\.md$/,
  /^sdk\/schema\.json$/,
  /^tests\/fixtures\/(?:homes|talhelper|configurations|outside)\//,
];

const byEnding = {
  md: (text) => [{ start: 0, text: proseOfPage(text) }],
  go: (text) => [
    ...all(text, /(?:^[ \t]*\/\/.*\n)+|\/\/ .*/gm, proseOfComment),
    ...proseOfStrings(text).map(asValue),
  ],
  json: proseOfStrings,
  yaml: (text) => [
    ...all(text, /(?:^[ \t]*#.*\n)+|\s# .*/gm, proseOfComment),
    ...all(text, /(?<=^[ \t-]*[\w.-]+:|^[ \t]+- ) [^#\n]*$/gm, proseOfString).map(asValue),
  ],
  sh: (text) => all(text, /(?:^[ \t]*#.*\n)+|\s# .*/gm, proseOfComment),
};
byEnding.yml = byEnding.yaml;

/**
 * @param {string} name
 * @param {() => string} read Reads the file, if there may be prose in it.
 * @returns {(import("./prose").Prose & { sentences?: boolean })[]}
 */
function proseOfFile(name, read) {
  const proseOf = byEnding[name === ".ci/run" ? "sh" : name.slice(name.lastIndexOf(".") + 1)];
  return proseOf && !foreign.some((pattern) => pattern.test(name)) ? proseOf(read()) : [];
}

const asValue = (prose) => ({ ...prose, sentences: false });

/** Strings of several words; a single one is a value. */
function proseOfStrings(text) {
  return all(text, /"(?:[^"\\\n]|\\.)*"/g, proseOfString).filter((prose) =>
    /\S\s+\S/.test(prose.text),
  );
}

function all(text, pattern, proseOf) {
  return [...text.matchAll(pattern)].map((match) => ({
    start: match.index,
    text: proseOf(match[0]),
  }));
}

module.exports = { proseOfFile };
