// The lab's omnictl: the commands that this package uses, in the forms of the real one (siderolabs/omni,
// client/pkg/omnictl: apply.go, delete.go, get.go): `apply -f FILE`, `delete TYPE ID`, `get TYPE [ID] -o yaml`. It
// calls lab/omni/index.ts by HTTP instead of gRPC, and logs the output of each `get`. A wait for Omni calls it three
// times a second, so it loads hardly any modules.
/* global console, Buffer */
const fs = require("node:fs");
const http = require("node:http");

async function main([verb, ...words]) {
  if (verb === "apply") return apply(words[1]);
  const [type, id] = words.map(encodeURIComponent);
  if (verb === "delete") {
    const { found } = await request("DELETE", `/resources/${type}/${id}`);
    if (found) console.error(`destroyed ${type} ${words[1]}`);
  } else if (verb === "get") {
    const { text } = await request("GET", `/resources/${type}${words.length > 3 ? `/${id}` : ""}`);
    process.stdout.write(text);
  } else throw new Error(`unknown command ${JSON.stringify(verb)} for "omnictl"`);
}

async function apply(file) {
  const { parseAllDocuments } = require("yaml");
  const resources = parseAllDocuments(fs.readFileSync(file, "utf8")).map((document) =>
    document.toJS(),
  );
  for (const resource of resources) await request("POST", "/resources", resource);
}

function request(method, path, body) {
  const { OMNI_ENDPOINT: endpoint, OMNI_SERVICE_ACCOUNT_KEY: key } = process.env;
  if (!endpoint) throw new Error("context with name '' not found");
  return new Promise((resolve, reject) => {
    const sent = http.request(endpoint + path, {
      method,
      headers: { Authorization: `Bearer ${key ?? ""}` },
    });
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
  const refused =
    error.cause === undefined
      ? ""
      : `rpc error: code = Unavailable desc = ${error.cause.message}: `;
  console.error(`Error: ${refused}${error.message}`);
  process.exitCode = 1;
});
