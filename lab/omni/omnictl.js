// omnictl of the lab: the commands that this package uses, in the forms of the real one (siderolabs/omni,
// client/pkg/omnictl: apply.go, delete.go, get.go, output/). What is behind it is lab/omni/index.ts, by HTTP instead of gRPC; it also
// writes down what a `get` prints. A wait for Omni asks three times a second, so this loads next to nothing.
/* global console, URLSearchParams, Buffer */
const fs = require("node:fs");
const http = require("node:http");
const { parseArgs } = require("node:util");

/** Types that are known, in full; a short name is the first word in singular or plural (COSI, meta.ResourceDefinition). */
const types = [
  "Clusters",
  "ConfigPatches",
  "ExtensionsConfigurations",
  "ClusterMachineStatuses",
  "MachineStatuses",
  "MachinePendingUpdates",
].map((name) => `${name}.omni.sidero.dev`);

async function main([verb, ...rest]) {
  const options = {
    file: { type: "string", short: "f" },
    output: { type: "string", short: "o", default: "table" },
    selector: { type: "string", short: "l", default: "" },
  };
  const { values: flags, positionals: words } = parseArgs({ args: rest, options, allowPositionals: true });
  if (verb === "apply") return apply(flags.file);
  const type = resolve(words[0] ?? "");
  if (verb === "delete") return remove(type, words.slice(1));
  if (verb === "get") return get(type, words[1], flags);
  throw new Error(`unknown command ${JSON.stringify(verb)} for "omnictl"`);
}

function resolve(word) {
  const wanted = word.toLowerCase();
  const found = types.find((type) => {
    const plural = type.toLowerCase();
    const short = plural.split(".")[0];
    return [plural, short, short.replace(/e?s$/, ""), short.replace(/s$/, "")].includes(wanted);
  });
  if (found === undefined) throw new Error(`resource ${JSON.stringify(word)} is not registered`);
  return found;
}

async function apply(file) {
  if (file === undefined) throw new Error('required flag(s) "file" not set');
  const { parseAllDocuments } = require("yaml");
  const resources = parseAllDocuments(fs.readFileSync(file, "utf8")).map((document) => document.toJS());
  for (const resource of resources) await request("POST", "/resources", resource);
}

async function remove(type, ids) {
  if (ids.length === 0) throw new Error("either resource ID or one of --all or --selector flags must be specified");
  for (const id of ids) {
    const { found } = await request("DELETE", `/resources/${type}/${encodeURIComponent(id)}`);
    if (found) console.error(`destroyed ${type} ${id}`);
  }
}

async function get(type, id, flags) {
  const path = `/resources/${type}${id === undefined ? "" : `/${encodeURIComponent(id)}`}`;
  const { text } = await request("GET", `${path}?${new URLSearchParams(flags)}`);
  process.stdout.write(text);
}

function request(method, path, body) {
  const { OMNI_ENDPOINT: endpoint, OMNI_SERVICE_ACCOUNT_KEY: key } = process.env;
  if (!endpoint) throw new Error("context with name '' not found");
  return new Promise((resolve, reject) => {
    const sent = http.request(endpoint + path, { method, headers: { Authorization: `Bearer ${key ?? ""}` } });
    sent.on("error", (error) => reject(new Error(error.message, { cause: error })));
    sent.on("response", (response) => {
      const chunks = [];
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("end", () => {
        const text = Buffer.concat(chunks).toString("utf8");
        if (response.statusCode !== 200) reject(new Error(text));
        else resolve(JSON.parse(text));
      });
    });
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

main(process.argv.slice(2)).catch((error) => {
  const refused = error.cause === undefined ? "" : `rpc error: code = Unavailable desc = ${error.cause.message}: `;
  console.error(`Error: ${refused}${error.message}`);
  process.exitCode = 1;
});
