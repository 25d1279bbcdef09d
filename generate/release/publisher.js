// Only `repository` in components/package.json defines the package's publisher. A fork changes it, and every file that
// names the repository, with this program:
//
//   npm run publisher -- ACCOUNT
/* global console */
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

/**
 * Account and name of a package's repository.
 *
 * @param {{ repository: { url: string } }} manifest
 * @throws Error if it is not a repository of GitHub.
 */
function publisherOf({ repository: { url } }) {
  const [, owner, name] = /^git\+https:\/\/github\.com\/([\w-]+)\/([\w.-]+?)\.git$/.exec(url) ?? [];
  if (owner === undefined || name === undefined)
    throw new Error(
      `components/package.json: repository.url is ${url}, so the package's publisher is unknown; write git+https://github.com/ACCOUNT/NAME.git`,
    );
  return { owner, name };
}

/**
 * A text with a new account wherever it names the repository.
 *
 * @param {string} text
 * @param {{ owner: string, name: string }} repository
 * @param {string} account the new account
 */
const withAccount = (text, { owner, name }, account) =>
  text
    .replace(new RegExp(`(?<![\\w-])${owner}/${name}(?![\\w-])`, "g"), `${account}/${name}`)
    .replace(`"publisher": "${owner}"`, `"publisher": "${account}"`);

/**
 * Writes the account into every file of git that names the repository.
 *
 * @param {string} root
 * @param {string} account
 */
function publishBy(root, account) {
  if (!/^[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})$/.test(account))
    throw new Error(
      `ACCOUNT: ${account || "nothing"} is not an account name of GitHub, so it cannot publish; write e.g. npm run publisher -- my-account`,
    );
  const manifest = path.join(root, "components/package.json");
  const repository = publisherOf(JSON.parse(fs.readFileSync(manifest, "utf8")));
  const files = execFileSync("git", ["ls-files", "-z"], { cwd: root, encoding: "utf8" }).split(
    "\0",
  );
  return files.filter((file) => {
    const filePath = path.join(root, file);
    if (file === "" || !fs.lstatSync(filePath).isFile()) return false;
    const text = fs.readFileSync(filePath, "utf8");
    const newText = text.includes("\u0000") ? text : withAccount(text, repository, account);
    if (newText !== text) fs.writeFileSync(filePath, newText);
    return newText !== text;
  });
}

if (require.main === module) {
  try {
    for (const file of publishBy(path.join(__dirname, "../.."), process.argv[2] ?? ""))
      console.log(file);
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exit(2);
  }
}

module.exports = { publishBy, publisherOf };
