// Installs the clients for a stack's machines: talosctl of the stack's Talos release and, if Omni manages a machine,
// omnictl of the release in OMNI_VERSION, which must match the server.
const { execFileSync } = require("node:child_process");
const fs = require("node:fs");
const path = require("node:path");
const { parse } = require("yaml");

const stack = process.argv[2] ?? "";
if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(stack)) throw new Error(`${stack} is not a stack name`);
const text = fs.readFileSync(path.join("stacks", `Pulumi.${stack}.yaml`), "utf8");
const { config } = parse(text, { merge: true, maxAliasCount: 10_000 }); // as Pulumi's reader, which accepts merge keys
const said = (key) => config[`talos-gpu:${key}`] ?? config[key];
const install = (...args) =>
  execFileSync("bash", [path.join(__dirname, "install-tool.sh"), ...args], { stdio: "inherit" });

install("talos", String(said("talosVersion")), "talosctl");
const defaults = said("machineDefaults") ?? {};
const machines = [said("machines"), said("pools")].flatMap((entries) =>
  Object.values(entries ?? {}),
);
if (machines.some((machine) => (machine?.configuration ?? defaults.configuration) === "omni")) {
  const version = process.env.OMNI_VERSION;
  if (!version)
    throw new Error(
      `stack ${stack} has machines that Omni manages; set the variable OMNI_VERSION to the server's release, e.g. v1.4.3`,
    );
  install("omni", version, "omnictl");
}
