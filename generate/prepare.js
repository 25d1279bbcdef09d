// `npm run prepare`: builds the packages after an installation. Pulumi installs a package by its git address with npm
// in the package's own folder. There npm does not install the build tools of the repository's root, so this program
// installs them first.
const { spawnSync } = require("node:child_process");
const { existsSync } = require("node:fs");
const path = require("node:path");
const { isStale } = require("./package/build-if-stale");

const root = path.dirname(__dirname);

// npm puts absolute folders on PATH. Pulumi names a package's folder after its address, and in PATH the colon of
// `example.org:8443` would end that folder. Relative folders have no colon; the built workspaces lie one and two
// folders deep.
const separator = path.delimiter;
const PATH = [
  ...["..", "../.."].map((up) => path.join(up, "node_modules", ".bin")),
  process.env.PATH,
].join(separator);
const programs = root.includes(separator) ? { PATH } : {};

/** Runs npm in the repository's root, without the environment of the npm that runs this. */
function npm(...args) {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^npm_(?!config_(?:registry|cache|userconfig)$)/i.test(name),
  );
  const env = { ...Object.fromEntries(inherited), ...programs, INIT_CWD: root };
  const { status } = spawnSync("npm", args, {
    cwd: root,
    env,
    stdio: "inherit",
    shell: process.platform === "win32",
  });
  if (status !== 0) process.exit(status ?? 1);
}

const tools = ["typescript", "esbuild", "tsx"];
if (!tools.every((name) => existsSync(path.join(root, "node_modules", name))))
  npm(
    "install",
    "--include=dev",
    "--ignore-scripts",
    "--no-save",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
  );
// Each `pulumi package add` of this folder runs `npm install`, so it builds only if needed. `npm ci` may install other
// releases of bundled packages, so it always builds.
if (process.env.npm_command !== "install" || isStale(root)) npm("run", "build");
