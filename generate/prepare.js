// `npm run prepare`: builds the packages after an installation. Pulumi installs a package by its git address with npm in the package's
// own folder. There npm leaves out what the repository's root has for building, so that comes first.
const { spawnSync } = require("node:child_process");
const { existsSync } = require("node:fs");
const path = require("node:path");

const root = path.dirname(__dirname);

/** npm in the repository's root, as if no other npm had started it. */
function npm(...args) {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !/^npm_(?!config_(?:registry|cache|userconfig)$)/i.test(name),
  );
  const env = { ...Object.fromEntries(inherited), INIT_CWD: root };
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
npm("run", "build");
