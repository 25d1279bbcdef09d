// Generates SDKs for other languages with Pulumi's generators, builds each with its language's tools, and packs it for
// its registry.
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { publisherOf } = require("./publisher");
const { root, run, version } = require("./repository");

/**
 * Packs an SDK's sources for its registry, by language.
 *
 * @type {Record<string, (sources: string, folder: string) => void>}
 */
const builds = {
  // A wheel, for PyPI and pip.
  python: (sources, folder) => {
    // The generator leaves the version to the publisher.
    run("python3", ["-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, sources]);
  },
  // Go's only registry is git, so this packs the module's sources, after compiling them.
  go: (sources, folder) => {
    run("go", ["build", "./..."], {
      cwd: sources,
      env: { ...process.env, GOWORK: "off", GOFLAGS: "-mod=mod" },
    });
    run("tar", [
      "-czf",
      path.join(folder, `talos-gpu-sdk-go-${version}.tar.gz`),
      "-C",
      sources,
      ".",
    ]);
  },
  // A NuGet package.
  dotnet: (sources, folder) => {
    run("dotnet", ["pack", "--configuration", "Release", "--output", folder], { cwd: sources });
  },
};

/**
 * @param {string} language as `pulumi package gen-sdk` calls it
 * @param {string} folder
 */
function packSdk(language, folder) {
  const work = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-sdk-"));
  try {
    const sources = generate(language, work);
    builds[language]?.(sources, folder);
  } finally {
    fs.rmSync(work, { recursive: true, force: true });
  }
}

/**
 * Generates an SDK, and returns the folder of its sources.
 *
 * `TALOS_GPU_GENERATE_SDK` names a different generator, which is called with the language, the schema and a folder.
 *
 * @param {string} language
 * @param {string} work
 */
function generate(language, work) {
  const schema = path.join(root, "sdk/schema.json");
  const generator = process.env["TALOS_GPU_GENERATE_SDK"];
  const sources = path.join(work, language);
  if (generator !== undefined) run(generator, [language, schema, sources]);
  else run("pulumi", ["package", "gen-sdk", schema, "--language", language, "--out", work]);
  return language === "go" ? inGoModule(sources) : sources;
}

/**
 * The folder of the Go package, with a module file: the generator writes none for a package that is published by tag.
 *
 * @param {string} sources
 */
function inGoModule(sources) {
  const [{ name } = { name: "" }] = fs
    .readdirSync(sources, { withFileTypes: true })
    .filter((entry) => entry.isDirectory());
  const folder = path.join(sources, name);
  if (fs.existsSync(path.join(folder, "go.mod"))) return folder;
  const { owner, name: repository } = publisherOf(require("../../components/package.json"));
  run("go", ["mod", "init", `github.com/${owner}/${repository}/sdk/go/talosgpu`], { cwd: folder });
  const { version: pulumi } = require("@pulumi/pulumi/package.json");
  run("go", ["get", `github.com/pulumi/pulumi/sdk/v3@v${pulumi}`], {
    cwd: folder,
    env: { ...process.env, GOWORK: "off" },
  });
  return folder;
}

module.exports = { packSdk };
