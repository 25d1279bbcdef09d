import { createHash } from "node:crypto";
import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { createCheckout, readWorkflow, runStep, writeProgram, findStep } from "./runner";

// The steps of up.yml that give the runner clients and credentials.

const temp = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-clients-"));
const [work, tools] = ["work", "tools"].map((name) => path.join(temp, name)) as [string, string];
const workflow = readWorkflow("up.yml");
const expressions = { "vars.OMNI_VERSION": "v1.4.3" };
const stepOptions = { cwd: work, tools, temp, expressions };

beforeAll(() => createCheckout(work, ["velaryon", "frank"]));
afterAll(() => fs.rmSync(temp, { recursive: true }));

/** The content of a downloaded client. */
const contentOf = (name: string): string => `client ${name}`;

/** Replaces `curl`: it serves the clients and their checksums, and records each URL. */
const serveClients = (checksumOf: (text: string) => string): void =>
  writeProgram(
    tools,
    "curl",
    `const fs = require("node:fs");
const url = process.argv.at(-1), file = process.argv[process.argv.indexOf("-o") + 1];
fs.appendFileSync(${JSON.stringify(path.join(temp, "urls"))}, url + "\\n");
fs.writeFileSync(file, url.endsWith("sha256sum.txt") ? ${JSON.stringify(
      ["talosctl", "omnictl"]
        .map((name) => `${checksumOf(contentOf(name))}  ${name}-linux-amd64\n`)
        .join(""),
    )} : "client " + url.split("/").at(-1).replace("-linux-amd64", ""));`,
  );

/** Runs the step that installs the clients for a stack. */
const installClients = (stackName: string, environment: NodeJS.ProcessEnv = {}) => {
  fs.rmSync(path.join(temp, "bin"), { recursive: true, force: true });
  fs.rmSync(path.join(temp, "urls"), { force: true });
  const step = findStep(workflow, "up", "install-clients.js");
  const options = {
    ...stepOptions,
    environment,
    expressions: { ...expressions, "matrix.stack": stackName },
  };
  const result = runStep(step, options);
  const bin = path.join(temp, "bin");
  return { ...result, installed: fs.existsSync(bin) ? fs.readdirSync(bin).sort() : [] };
};

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");

test("the steps install talosctl of the stack's release, and omnictl for a stack of Omni", () => {
  serveClients(sha256);
  expect(installClients("velaryon")).toMatchObject({
    status: 0,
    installed: ["talosctl"],
    output: `${temp}/bin\n`,
  });
  expect(fs.readFileSync(path.join(temp, "urls"), "utf8")).toContain(
    "https://github.com/siderolabs/talos/releases/download/v1.11.1/talosctl-linux-amd64",
  );
  expect(installClients("frank")).toMatchObject({ status: 0, installed: ["omnictl", "talosctl"] });
  expect(fs.readFileSync(path.join(temp, "urls"), "utf8")).toContain(
    "siderolabs/omni/releases/download/v1.4.3/omnictl",
  );
});

test.each([
  {
    source: "machineDefaults",
    lines:
      "talos-gpu:machineDefaults: { configuration: omni }\n  talos-gpu:machines: { a: { uuid: x } }",
    needsOmnictl: true,
  },
  {
    source: "a merge key of another machine",
    lines:
      "talos-gpu:machines:\n    a: &a { configuration: omni }\n    b: { <<: *a, configuration: adopted }",
    needsOmnictl: true,
  },
  {
    source: "a merge key of a common part",
    lines: "common: &c { configuration: omni }\n  talos-gpu:machines: { a: { <<: *c } }",
    needsOmnictl: true,
  },
  {
    source: "a pool",
    lines: "talos-gpu:pools: { all: { names: gpu-#, configuration: omni } }",
    needsOmnictl: true,
  },
  {
    source: "a key without the project's name",
    lines: "machines: { a: { configuration: omni } }",
    needsOmnictl: true,
  },
  {
    source: "machineDefaults that every machine overrides",
    lines:
      "talos-gpu:machineDefaults: { configuration: omni }\n  talos-gpu:machines: { a: { configuration: owned } }",
    needsOmnictl: false,
  },
])(
  "configuration: omni from $source makes the steps install omnictl: $needsOmnictl",
  ({ lines, needsOmnictl }) => {
    serveClients(sha256);
    fs.writeFileSync(
      path.join(work, "stacks", "Pulumi.example.yaml"),
      `config:\n  talos-gpu:talosVersion: v1.11.1\n  ${lines}\n`,
    );
    expect(installClients("example")).toMatchObject({
      status: 0,
      installed: needsOmnictl ? ["omnictl", "talosctl"] : ["talosctl"],
    });
  },
);

test("the steps install no client whose checksum differs or is missing", () => {
  serveClients((text) => sha256(`${text}!`));
  expect(installClients("velaryon")).toMatchObject({ status: 1, installed: [] });
  serveClients(() => "no checksum");
  expect(installClients("velaryon")).toMatchObject({ status: 1, installed: [] });
});

test("without OMNI_VERSION, the steps for a stack of Omni fail and name that variable", () => {
  serveClients(sha256);
  expect(installClients("frank", { OMNI_VERSION: "" })).toMatchObject({
    status: 1,
    log: expect.stringContaining("set the variable OMNI_VERSION"),
  });
});

test("the steps write each given credential to a file that only the runner's user can read", () => {
  const { status, output } = runStep(findStep(workflow, "up", "write-credentials.js"), {
    ...stepOptions,
    expressions: {
      "secrets.TALOSCONFIG": "context: a",
      "secrets.TALOS_SECRETS": "",
      "secrets.KUBECONFIG": "kind: Config",
    },
  });
  expect(status).toBe(0);
  expect(output).toBe(`TALOSCONFIG=${temp}/talosconfig\nKUBECONFIG=${temp}/kubeconfig\n`);
  for (const name of ["talosconfig", "kubeconfig"])
    expect(fs.statSync(path.join(temp, name)).mode & 0o777).toBe(0o600);
});
