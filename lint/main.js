// `npm run prose`: the prose linter over pages, data, settings and Go. ESLint has the same rule for TypeScript (rule.js).
/* global console */
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { flawsOf } = require("./prose");
const { proseOfFile } = require("./files");

const root = path.dirname(__dirname);
const tracked = execFileSync(
  "git",
  ["ls-files", "-z", "--cached", "--others", "--exclude-standard"],
  { cwd: root, encoding: "utf8" },
);
const names = process.argv.length > 2 ? process.argv.slice(2) : tracked.split("\0").filter(Boolean);

function lineAt(text, place) {
  const start = text.lastIndexOf("\n", place) + 1;
  return text.slice(start, text.indexOf("\n", place));
}

let flaws = 0;
for (const name of names) {
  const file = path.resolve(root, name);
  if (!fs.existsSync(file)) continue; // deleted, but not committed yet
  const text = () => fs.readFileSync(file, "utf8");
  for (const prose of proseOfFile(name, text)) {
    for (const { index, message } of flawsOf(prose.text, prose)) {
      // Another program's words, in a line that says whose: `// prose: Talos' words`.
      if (lineAt(text(), prose.start + index).includes(" prose: ")) continue;
      const before = text()
        .slice(0, prose.start + index)
        .split("\n");
      console.error(`${name}:${before.length}:${before.at(-1).length + 1} ${message}`);
      flaws += 1;
    }
  }
}
if (flaws > 0) {
  console.error(`${flaws} places to reword`);
  process.exit(1);
}
