/**
 * ESLint's part of the prose linter: comments, messages and names of tests. `main.js` reads all other files.
 * A text of another program gets a disabling comment that says whose it is.
 */
const { flawsOf, proseOfProgram } = require("./prose");

/** @type {import("eslint").Rule.RuleModule} */
const plainWords = {
  meta: { type: "suggestion", schema: [], messages: { flaw: "{{message}}" } },
  create({ filename, sourceCode, report }) {
    const parts = !/[\\/]tests[\\/]/.test(filename); // tests quote long messages of other programs
    const strings = [];
    const add = (node) => void strings.push(node.range);
    return {
      "Literal[raw=/^[\"']/]": add,
      TemplateLiteral: add,
      "Program:exit"() {
        const comments = sourceCode.getAllComments().map(({ range }) => range);
        for (const prose of proseOfProgram(sourceCode.text, { comments, strings })) {
          for (const { index, length, message } of flawsOf(prose.text, { ...prose, parts })) {
            const [start, end] = [prose.start + index, prose.start + index + length].map((place) =>
              sourceCode.getLocFromIndex(place),
            );
            report({ loc: { start, end }, messageId: "flaw", data: { message } });
          }
        }
      },
    };
  },
};

module.exports = { rules: { "plain-words": plainWords } };
