// `npm run prepare`: builds the packages after an installation. Pulumi installs a package by its git address with npm
// in the package's own folder. There npm leaves out what the repository's root has for building, so that comes first.
const { spawnSync } = require("node:child_process");
const { existsSync } = require("node:fs");
const path = require("node:path");
const { isStale } = require("./package/build-if-stale");

const root = path.dirname(__dirname);

// npm puts absolute folders on PATH. Pulumi names the folder of a package after its address, and a colon of
// `example.org:8443` ends a folder there. A relative folder has no colon: the built workspaces lie one and two
// folders deep.
const separator = path.delimiter;
const PATH = [
  ...["..", "../.."].map((up) => path.join(up, "node_modules", ".bin")),
  process.env.PATH,
].join(separator);
const programs = root.includes(separator) ? { PATH } : {};

/** npm in the repository's root, as if no other npm had started it. */
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
// `pulumi package add` of this folder begins with `npm install` each time. `npm ci` may bring other releases of what
// is bundled.
if (process.env.npm_command !== "install" || isStale(root)) npm("run", "build");
