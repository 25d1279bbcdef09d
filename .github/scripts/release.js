// Whether a tag may be released: it is the packages' version, newer than every release before, described in the
// changelog, and on main. Says all that is wrong at once.
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

/** Part of the changelog that is about a version, without its heading. */
function sectionOf(version) {
  const parts = fs.readFileSync("CHANGELOG.md", "utf8").split(/^## /m);
  const part = parts.find((text) => text.split(/\s/, 1)[0] === version);
  return part?.slice(part.indexOf("\n") + 1).trim();
}

/** What is wrong with a package that a tag is to publish. */
function wrongIn(folder) {
  const file = `${folder}/package.json`;
  const { version, repository, dependencies = {} } = JSON.parse(fs.readFileSync(file, "utf8"));
  const here = process.env.REPOSITORY;
  const asked = dependencies["talos-gpu"];
  return [
    // npm attests only a package that names the repository that it is published from, and Pulumi downloads the plugin
    // from there.
    ...(here === undefined || repository?.url === `git+${here}.git`
      ? []
      : [
          `${tag}: ${file} names ${repository?.url ?? "no repository"}, not ${here}; run npm run publisher -- ACCOUNT, and commit what it changes`,
        ]),
    ...(`v${version}` === tag
      ? []
      : [`${tag}: ${file} says ${version}; tag the commit that says it`]),
    ...(asked === undefined || `v${asked}` === tag
      ? []
      : [
          `${tag}: ${file} asks for talos-gpu ${asked}, so npm would install another release with it; write the version of the tag`,
        ]),
  ];
}

function wrong() {
  if (!pattern.test(tag))
    return [`${tag}: is no version; name the tag e.g. v1.2.3, or v1.3.0-rc.1`];
  // git's order of versions, once it sorts what follows a dash before the release, is semver's for names such as
  // v1.3.0-rc.1; it takes rc10, without the dot, for newer than rc9, which semver does not.
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
          `${tag}: ${newest} is there already and is not older; npm would hand out the older one as the latest`,
        ]),
    ...(sectionOf(tag.slice(1))
      ? []
      : [
          `${tag}: CHANGELOG.md has no section "## ${tag.slice(1)}"; give what is under Unreleased that heading`,
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
