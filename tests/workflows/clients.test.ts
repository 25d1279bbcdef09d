import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { checkout, read, runStep, standIn, stepOf } from "./runner";

// The steps of up.yml that give the runner clients and credentials.

const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-clients-"));
const [work, tools] = ["work", "tools"].map((name) => path.join(temp, name)) as [string, string];
const workflow = read("up.yml");
const expressions = { "vars.OMNI_VERSION": "v1.4.3" };
const where = { cwd: work, tools, temp, expressions };

beforeAll(() => checkout(work, ["velaryon", "frank"]));
afterAll(() => fs.rmSync(temp, { recursive: true }));

const client = (name: string): string => `client ${name}`;
const served = (sum: (text: string) => string): void =>
  standIn(
    tools,
    "curl",
    `const fs = require("node:fs");
const url = process.argv.at(-1), file = process.argv[process.argv.indexOf("-o") + 1];
fs.appendFileSync(${JSON.stringify(path.join(temp, "urls"))}, url + "\\n");
fs.writeFileSync(file, url.endsWith("sha256sum.txt") ? ${JSON.stringify(
      ["talosctl", "omnictl"].map((name) => `${sum(client(name))}  ${name}-linux-amd64\n`).join(""),
    )} : "client " + url.split("/").at(-1).replace("-linux-amd64", ""));`,
  );
const install = (stackName: string, environment: NodeJS.ProcessEnv = {}) => {
  fs.rmSync(path.join(temp, "bin"), { recursive: true, force: true });
  fs.rmSync(path.join(temp, "urls"), { force: true });
  const step = stepOf(workflow, "up", "install-clients.js");
  const all = { ...where, environment, expressions: { ...expressions, "matrix.stack": stackName } };
  const ran = runStep(step, all);
  const bin = path.join(temp, "bin");
  return { ...ran, there: fs.existsSync(bin) ? fs.readdirSync(bin).sort() : [] };
};
const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

test("the steps install talosctl of the stack's release, and omnictl for a stack of Omni", () => {
  served(sha256);
  expect(install("velaryon")).toMatchObject({
    status: 0,
    there: ["talosctl"],
    output: `${temp}/bin\n`,
  });
  expect(fs.readFileSync(path.join(temp, "urls"), "utf8")).toContain(
    "https://github.com/siderolabs/talos/releases/download/v1.11.1/talosctl-linux-amd64",
  );
  expect(install("frank")).toMatchObject({ status: 0, there: ["omnictl", "talosctl"] });
  expect(fs.readFileSync(path.join(temp, "urls"), "utf8")).toContain(
    "siderolabs/omni/releases/download/v1.4.3/omnictl",
  );
});

test.each([
  [
    "machineDefaults",
    "talos-gpu:machineDefaults: { configuration: omni }\n  talos-gpu:machines: { a: { uuid: x } }",
    true,
  ],
  [
    "a merge key",
    "talos-gpu:machines:\n    a: &a { configuration: omni }\n    b: { <<: *a, configuration: adopted }",
    true,
  ],
  [
    "a merge key",
    "common: &c { configuration: omni }\n  talos-gpu:machines: { a: { <<: *c } }",
    true,
  ],
  ["a pool", "talos-gpu:pools: { all: { names: gpu-#, configuration: omni } }", true],
  ["a key without the project's name", "machines: { a: { configuration: omni } }", true],
  [
    "machineDefaults that every machine overrides",
    "talos-gpu:machineDefaults: { configuration: omni }\n  talos-gpu:machines: { a: { configuration: owned } }",
    false,
  ],
])("configuration: omni from %s makes the steps install omnictl: %s", (_where, lines, omni) => {
  served(sha256);
  fs.writeFileSync(
    path.join(work, "stacks", "Pulumi.said.yaml"),
    `config:\n  talos-gpu:talosVersion: v1.11.1\n  ${lines}\n`,
  );
  expect(install("said")).toMatchObject({
    status: 0,
    there: omni ? ["omnictl", "talosctl"] : ["talosctl"],
  });
});

test("the steps install no client whose checksum differs or is missing", () => {
  served((text) => sha256(`${text}!`));
  expect(install("velaryon")).toMatchObject({ status: 1, there: [] });
  served(() => "no checksum");
  expect(install("velaryon")).toMatchObject({ status: 1, there: [] });
});

test("without OMNI_VERSION, the steps for a stack of Omni fail and name that variable", () => {
  served(sha256);
  expect(install("frank", { OMNI_VERSION: "" })).toMatchObject({
    status: 1,
    said: expect.stringContaining("set the variable OMNI_VERSION"),
  });
});

test("the steps write each given credential to a file that only the runner's user can read", () => {
  const { status, output } = runStep(stepOf(workflow, "up", "write-credentials.js"), {
    ...where,
    expressions: {
      "secrets.TALOSCONFIG": "context: a",
      "secrets.TALOS_SECRETS": "",
      "secrets.KUBECONFIG": "kind: Config",
    },
  });
  expect([status, output]).toEqual([
    0,
    `TALOSCONFIG=${temp}/talosconfig\nKUBECONFIG=${temp}/kubeconfig\n`,
  ]);
  for (const name of ["talosconfig", "kubeconfig"])
    expect(fs.statSync(path.join(temp, name)).mode & 0o777).toBe(0o600);
});
