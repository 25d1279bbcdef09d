// The files that take longest begin first. A long file that begins late would run alone at the end.
const Sequencer = require("@jest/test-sequencer").default;

/** Labs before units: first the files with many steps in one lab, then the files with many labs, the longest first. */
const longest = [
  "/e2e/life.",
  "/lab/tests/real-node/card.",
  "/e2e/failures/killed.",
  "/e2e/failures/without.",
  "/e2e/stacks.",
  "/e2e/migration.",
  "/e2e/external.",
  "/e2e/failures/",
  "/e2e/pulumi/previews.",
  "/e2e/",
  "/lab/tests/real-node/",
  "/tests/sdk/",
];

/** Position of a file among those that begin first; other files come after all of them. */
const rank = ({ path }) => {
  const index = longest.findIndex((part) => path.includes(part));
  return index < 0 ? longest.length : index;
};

module.exports = class extends Sequencer {
  sort(tests) {
    return super.sort(tests).sort((a, b) => rank(a) - rank(b));
  }
};
