const { createHash } = require("node:crypto");
const fs = require("node:fs");
const path = require("node:path");

/** File for `sha256sum --check`. */
const name = "SHA256SUMS";

/**
 * Writes the checksums of all files of a folder.
 *
 * @param {string} folder
 */
function writeChecksums(folder) {
  const files = fs.readdirSync(folder).filter((file) => file !== name);
  const lines = files.sort().map((file) => {
    const sum = createHash("sha256")
      .update(fs.readFileSync(path.join(folder, file)))
      .digest("hex");
    return `${sum}  ${file}\n`;
  });
  fs.writeFileSync(path.join(folder, name), lines.join(""));
}

module.exports = { writeChecksums };
