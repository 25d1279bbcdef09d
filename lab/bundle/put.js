const { randomUUID } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");

/** Writes a file whole: another process may be making the same one. */
function put(file, content) {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  fs.writeFileSync(draft, content);
  fs.renameSync(draft, file);
}

module.exports = { put };
