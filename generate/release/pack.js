// Packs the parts of a release into a folder. The release workflow runs it, and a test runs all parts without
// publishing.
//
//   node generate/release/pack.js FOLDER PART…
//
// Parts:
// - package: npm's tarball and the schema
// - policy: npm's tarball of the policy pack
// - plugin: Pulumi's plugin for this platform
// - python, go, dotnet: SDKs
// - sbom: one for each tarball
// - checksums
//
// Run `npm ci` and `npm run build` before it.
/* global console */
const fs = require("node:fs");
const path = require("node:path");
const { writeChecksums } = require("./checksums");
const { packPackage, packPolicy, writeSboms } = require("./package");
const { packPlugin } = require("./plugin");
const { packSdk } = require("./sdks");

/** @type {Record<string, (folder: string) => void>} */
const parts = {
  package: packPackage,
  policy: packPolicy,
  plugin: packPlugin,
  python: (folder) => packSdk("python", folder),
  go: (folder) => packSdk("go", folder),
  dotnet: (folder) => packSdk("dotnet", folder),
  sbom: writeSboms,
  checksums: writeChecksums,
};

const [, , folder = "", ...names] = process.argv;
const unknown = names.filter((name) => !Object.hasOwn(parts, name));
if (folder === "" || names.length === 0 || unknown.length > 0) {
  console.error(
    `pack.js: ${unknown.join(", ") || "FOLDER and PART"}: does not exist, so nothing is packed; write a folder and some of ${Object.keys(parts).join(", ")}`,
  );
  process.exit(2);
}
const target = path.resolve(folder);
fs.mkdirSync(target, { recursive: true });
for (const name of names) parts[name]?.(target);
