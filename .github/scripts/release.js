// Checks whether a tag may be released: it must be the packages' version, newer than every earlier release, described
// in the changelog, and on main. Reports all errors at once.
//
//   node .github/scripts/release.js TAG NOTES   writes the version's part of the changelog to the file NOTES
//
// Prints `version=…` and `channel=…` (npm's: `latest`, or `next` for a pre-release), for GITHUB_OUTPUT.
/* global console */
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");

const [, , tag = "", notes = ""] = process.argv;
const git = (...args) =>
  execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });

// https://semver.org, without build metadata, which npm ignores.
const pattern =
  /^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?$/;

/** Section of the changelog for a version, without its heading. */
function sectionOf(version) {
  const parts = fs.readFileSync("CHANGELOG.md", "utf8").split(/^## /m);
  const part = parts.find((text) => text.split(/\s/, 1)[0] === version);
  return part?.slice(part.indexOf("\n") + 1).trim();
}

/** Errors of a package that the tag would publish. */
function wrongIn(folder) {
  const file = `${folder}/package.json`;
  const { version, repository, dependencies = {} } = JSON.parse(fs.readFileSync(file, "utf8"));
  const here = process.env.REPOSITORY;
  const asked = dependencies["talos-gpu"];
  return [
    // npm attests a package only if the package names the repository that publishes it. Pulumi downloads the plugin
    // from that repository.
    ...(here === undefined || repository?.url === `git+${here}.git`
      ? []
      : [
          `${tag}: ${file} names ${repository?.url ?? "no repository"}, not ${here}; run npm run publisher -- ACCOUNT, and commit its changes`,
        ]),
    ...(`v${version}` === tag
      ? []
      : [
          `${tag}: ${file} has version ${version}; tag the commit whose file has this tag's version`,
        ]),
    ...(asked === undefined || `v${asked}` === tag
      ? []
      : [
          `${tag}: ${file} requires talos-gpu ${asked}, so npm would install a different release with it; write the version of the tag`,
        ]),
  ];
}

function wrong() {
  if (!pattern.test(tag))
    return [`${tag}: is not a version; name the tag e.g. v1.2.3, or v1.3.0-rc.1`];
  // With this setting, git sorts pre-releases before their release, as semver does for names such as v1.3.0-rc.1.
  // Without the dot they differ: git sorts rc10 after rc9, and semver before it.
  const [newest] = git("-c", "versionsort.suffix=-", "tag", "--list", "--sort=-version:refname")
    .split("\n")
    .filter((other) => pattern.test(other));
  const onMain =
    git("branch", "--remotes", "--contains", "HEAD", "--list", "origin/main").trim() !== "";
  return [
    ...["components", "policy"].flatMap(wrongIn),
    ...(newest === tag
      ? []
      : [
          `${tag}: ${newest} is already released and is not older; npm would serve the older one as the latest`,
        ]),
    ...(sectionOf(tag.slice(1))
      ? []
      : [
          `${tag}: CHANGELOG.md has no section "## ${tag.slice(1)}"; rename the heading Unreleased to it`,
        ]),
    ...(onMain
      ? []
      : [`${tag}: its commit is not on main, where changes are reviewed; merge it first`]),
  ];
}

const findings = wrong();
for (const finding of findings) console.error(finding);
if (findings.length > 0) process.exit(1);
fs.mkdirSync(path.dirname(notes), { recursive: true });
fs.writeFileSync(notes, `${sectionOf(tag.slice(1))}\n`);
console.log(`version=${tag.slice(1)}\nchannel=${tag.includes("-") ? "next" : "latest"}`);
