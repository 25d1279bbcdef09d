// SDKs for other languages by Pulumi's own generators, each built with its language's own tools and packed as its
// registry takes it.
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const { publisherOf } = require("./publisher");
const { root, run, version } = require("./repository");

/**
 * How an SDK's sources become what a registry takes.
 *
 * @type {Record<string, (sources: string, folder: string) => void>}
 */
const builds = {
  // A wheel: PyPI and pip take it.
  python: (sources, folder) => {
    // The generator leaves the version to the publisher.
    run("python3", ["-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, sources]);
  },
  // Go has no registry but git: the module's sources, compiled first.
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
 * Generates an SDK; gives the folder of its sources.
 *
 * `TALOS_GPU_GENERATE_SDK` names another program for that: it is called with the language, the schema and a folder.
 *
 * @param {string} language
 * @param {string} work
 */
function generate(language, work) {
  const schema = path.join(root, "sdk/schema.json");
  const own = process.env["TALOS_GPU_GENERATE_SDK"];
  const sources = path.join(work, language);
  if (own !== undefined) run(own, [language, schema, sources]);
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
