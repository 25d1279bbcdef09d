// Bundles a program of this repository into one JavaScript file, and keeps it by its content. tsx would transpile,
// resolve and load hundreds of files in every process. Plain JavaScript, since nothing can read TypeScript yet.
const { createHash, randomUUID } = require("node:crypto");
const fs = require("node:fs");
const { createRequire, SourceMap, wrap } = require("node:module");
const path = require("node:path");
const { constants, Script } = require("node:vm");
const { kubernetesClient } = require("../../generate/package/kubernetes-client");

const repository = path.resolve(__dirname, "../..");
/** Folder of the bundles: in node_modules, so that a bundle finds the packages outside of it. */
const cache = path.join(repository, "node_modules/.cache/talos-gpu");
/** Milliseconds after which an unused bundle is removed: a day. */
const kept = 86_400_000;

/**
 * Packages that stay outside. The lab and the stack's program must share one SDK, and with it one release of its messages
 * (lab/providers/values.ts); esbuild is a program of its own.
 */
const external = ["@pulumi/*", "@grpc/*", "google-protobuf", "esbuild"];

const hashOf = (content) => createHash("sha256").update(content).digest("hex").slice(0, 16);

/** Path of a program's bundle, which is made again only if one of its source files has changed. */
async function bundle(entry) {
  const name = path
    .relative(repository, entry)
    .replace(/[^\w.]+/g, "-")
    .replace(/^\W+/, "");
  const index = path.join(cache, `${name}.json`);
  const known = fresh(index);
  if (known !== undefined) return known;
  const made = await make(entry, name);
  put(index, JSON.stringify(made));
  forget();
  return path.join(cache, made.file);
}

/** Key of a bundle besides its sources: the files that make it, and the installed packages. */
function circumstances() {
  const lock = path.join(repository, "node_modules/.package-lock.json");
  // A repository that was moved or copied with its packages has other places, and a bundle holds them.
  const plugin = path.join(repository, "generate/package/kubernetes-client.js");
  const files = [__filename, plugin, lock];
  const texts = files.map((file) => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : ""));
  return hashOf(repository + texts.join(""));
}

/** Path of an up-to-date bundle; undefined if a source has changed. */
function fresh(index) {
  try {
    const { made, file, inputs } = JSON.parse(fs.readFileSync(index, "utf8"));
    const same = ([input, hash]) => hashOf(fs.readFileSync(path.join(repository, input))) === hash;
    if (made !== circumstances() || !Object.entries(inputs).every(same)) return undefined;
    const now = new Date();
    for (const used of [
      index,
      ...["", ".map"].map((suffix) => path.join(cache, `${file}${suffix}`)),
    ])
      fs.utimesSync(used, now, now);
    return path.join(cache, file);
  } catch {
    return undefined; // it does not exist yet, or a source was deleted
  }
}

async function make(entry, name) {
  const { outputFiles, metafile } = await require("esbuild").build({
    entryPoints: [entry],
    absWorkingDir: repository,
    outfile: path.join(cache, `${name}.js`),
    bundle: true,
    platform: "node",
    target: "node20",
    format: "cjs",
    external,
    sourcemap: "external",
    sourcesContent: false,
    metafile: true,
    write: false,
    logLevel: "error",
    plugins: [kubernetesClient, ownPlaces],
  });
  const text = (suffix) => outputFiles.find((file) => file.path.endsWith(suffix)).text;
  const file = `${name}-${hashOf(text(".js"))}.js`;
  put(path.join(cache, `${file}.map`), text(".map"));
  put(path.join(cache, file), text(".js"));
  const sources = Object.keys(metafile.inputs).filter((input) => !input.includes("node_modules/"));
  const inputs = sources.map((input) => [
    input,
    hashOf(fs.readFileSync(path.join(repository, input))),
  ]);
  return { made: circumstances(), file, inputs: Object.fromEntries(inputs) };
}

/** Writes a file atomically, since another process may write the same one. */
function put(file, content) {
  fs.mkdirSync(cache, { recursive: true });
  const draft = `${file}.${randomUUID()}`;
  fs.writeFileSync(draft, content);
  fs.renameSync(draft, file);
}

/** Files are found from the folder of the source that names them, not from that of the bundle. */
const ownPlaces = {
  name: "own places",
  setup(build) {
    build.onLoad({ filter: /\.[jt]s$/ }, async ({ path: file }) => {
      if (file.includes(`${path.sep}node_modules${path.sep}`)) return undefined;
      const source = (await fs.promises.readFile(file, "utf8")).replace(/^#!/, "//"); // removes a shebang, which is not JavaScript here
      // On the first line, so that line numbers stay.
      const places = Object.entries({ __dirname: path.dirname(file), __filename: file })
        .filter(([place]) => new RegExp(`\\b${place}\\b`).test(source))
        .map(([place, value]) => `const ${place} = ${JSON.stringify(value)}; `);
      return { loader: file.endsWith(".ts") ? "ts" : "js", contents: places.join("") + source };
    });
  },
};

/** Removes unused bundles. A process that has loaded one is not affected. */
function forget() {
  for (const file of fs.readdirSync(cache)) {
    const stat = fs.statSync(path.join(cache, file), { throwIfNoEntry: false });
    if (stat !== undefined && Date.now() - stat.mtimeMs > kept)
      fs.rmSync(path.join(cache, file), { force: true });
  }
}

/** Positions in bundles that a stack trace names. */
const position = /([^\s(]*\.cache[\\/]talos-gpu[\\/][\w.-]+\.js):(\d+):(\d+)/g;

/**
 * Translates a stack only when it is read. With Node's own source maps, every stack trace of Pulumi's SDK would be
 * translated, which costs a sixth of a lab's time.
 */
function inSources(text) {
  return text.replace(position, (all, file, line, column) => {
    const map = maps[file] ?? (maps[file] = mapOf(file));
    const found = map?.findEntry(Number(line) - 1, Number(column) - 1);
    if (found?.originalSource === undefined) return all;
    return `${path.resolve(path.dirname(file), found.originalSource)}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  });
}

const maps = {};

function mapOf(file) {
  try {
    return new SourceMap(
      JSON.parse(fs.readFileSync(`${file.replace(/^file:\/\//, "")}.map`, "utf8")),
    );
  } catch {
    return undefined; // an older bundle, which is gone
  }
}

function compile(file) {
  const script = new Script(wrap(fs.readFileSync(file, "utf8")), {
    filename: file,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  });
  const evaluate = script.runInThisContext();
  return () => {
    const module = { exports: {} };
    evaluate.call(
      module.exports,
      module.exports,
      createRequire(file),
      module,
      file,
      path.dirname(file),
    );
    return module.exports;
  };
}

module.exports = { bundle, compile, inSources };
