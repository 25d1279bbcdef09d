import * as fs from "node:fs";
import * as path from "node:path";
import { expired } from "./expired-certificate";
import { waitUntilEnded } from "../support/processes";
import {
  apiServer,
  cliStand,
  consult,
  hangingProgram,
  kubeconfig,
  listen,
  offering,
  runCommand,
} from "./stand";

const { folder, cli, at } = cliStand();
const page = '<!DOCTYPE html><html><form action="/login"></form></html>';

const noKubeconfig =
  /--kubeconfig: cannot be read \((it|\S+) contains no cluster, so it is not a kubeconfig\)/;

function written(name: string, text: string): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, text);
  return file;
}

/** Servers in place of the API server, and the doctor's message about each. */
const servers: [string, () => Promise<string>, RegExp][] = [
  [
    "a login page",
    () => at(listen((_, response) => response.setHeader("content-type", "text/html").end(page))),
    /answers with a web page \(HTTP 200\): a login page or a proxy answers/,
  ],
  [
    "a redirect to a login page",
    () =>
      at(
        listen((_, response) =>
          response.writeHead(302, { location: "https://login.example" }).end(),
        ),
      ),
    /redirects to https:\/\/login\.example: a login page or a proxy is in front of the API/,
  ],
  [
    "another server that returns JSON",
    () =>
      at(
        listen((_, response) =>
          response.setHeader("content-type", "application/json").end('{"ok":true}'),
        ),
      ),
    /answers with JSON that is not a list of Kubernetes objects/,
  ],
  [
    "a server that rejects the credentials",
    () => at(listen((_, response) => response.writeHead(401).end("{}"))),
    /does not accept the credentials \(HTTP 401\)/,
  ],
  ["down", async () => "http://127.0.0.1:1", /refuses the connection: no program listens there/],
  ["no URL", async () => "nowhere", /kubeconfig: the server nowhere is not a URL/],
  ["a name that does not exist", async () => "https://nowhere.invalid:6443", /cannot be found/],
];

describe("the doctor exits with status 2", () => {
  test.concurrent.each(servers)("if the kubeconfig's server is %s", async (_, server, expected) => {
    const file = kubeconfig(folder, await server());
    // A limit that suffices on a busy computer: each of these servers answers.
    const { status, report } = await consult(cli, ["--kubeconfig", file, "--within", "300"]);
    expect(report.unseen).toEqual([expect.stringMatching(/^Kubernetes could not be read: /)]);
    expect(report.unseen[0]).toMatch(expected);
    expect([status, report.status, report.differences, report.findings]).toEqual([2, 2, [], []]);
  });

  test("if the API server never answers", async () => {
    const file = kubeconfig(folder, await at(listen(() => {})));
    const { status, report } = await consult(cli, ["--kubeconfig", file, "--within", "3"]);
    expect(report.unseen).toEqual([
      expect.stringMatching(/^Kubernetes could not be read: .*does not answer within 0\.6 s/),
    ]);
    expect([status, report.status, report.differences, report.findings]).toEqual([2, 2, [], []]);
  });

  test("if the client certificate has expired, and prints its name and date", async () => {
    const user = {
      "client-certificate-data": Buffer.from(expired).toString("base64"),
      "client-key-data": "",
    };
    const url = await at(listen((_, response) => response.writeHead(401).end("{}")));
    const { status, report } = await consult(cli, ["--kubeconfig", kubeconfig(folder, url, user)]);
    expect(status).toBe(2);
    expect(report.unseen[0]).toContain(
      "the client certificate of user me (context home) expired on 2021-01-01",
    );
  });

  test.each([
    ["no kubeconfig at all", [], /KUBECONFIG is not set and ~\/\.kube\/config does not exist/],
    ["a missing kubeconfig", ["--kubeconfig", "/nowhere"], /--kubeconfig: cannot be read/],
    ["an empty kubeconfig", ["--kubeconfig", written("empty", "")], noKubeconfig],
    ["a kubeconfig of null", ["--kubeconfig", written("null", "null")], noKubeconfig],
    ["a web page as kubeconfig", ["--kubeconfig", written("page", page)], noKubeconfig],
    ["a list as kubeconfig", ["--kubeconfig", written("list", "[]")], noKubeconfig],
    ["a missing stack", ["--stack", "nowhere.yaml"], /--stack: there is no file nowhere\.yaml/],
    ["an unknown option", ["--kubekonfig", "x"], /Unknown option '--kubekonfig'/],
    [
      "a time limit that is no number",
      ["--within", "soon"],
      /--within: soon is not a number of seconds/,
    ],
  ])("if it gets %s", async (_, args, expected) => {
    const { status, stdout, stderr } = await runCommand(cli, ["doctor", ...args]);
    expect([status, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(expected);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

test.each([
  ["no stack", ["gpu-1"], /--stack: is missing/],
  [
    "a machine that the stack does not have",
    ["gpu-9"],
    /gpu-9: is not a machine of the stack; name one of/,
  ],
  ["a machine that Omni manages", ["gpu-1"], /gpu-1: Omni manages this machine/],
])("reboot is refused for %s", async (which, args, expected) => {
  const of =
    which === "no stack" ? [] : ["--stack", path.join(__dirname, "../../stacks/Pulumi.frank.yaml")];
  const { status, stderr } = await runCommand(cli, ["reboot", ...args, ...of]);
  expect(status).toBe(2);
  expect(stderr).toMatch(expected);
});

describe("a doctor that cannot read everything", () => {
  const talosconfig = path.join(folder, "talosconfig");
  const look = async (environment: NodeJS.ProcessEnv, within = "5"): ReturnType<typeof consult> => {
    fs.writeFileSync(
      talosconfig,
      JSON.stringify({ context: "home", contexts: { home: { endpoints: ["127.0.0.1"] } } }),
    );
    const file = kubeconfig(folder, await at(apiServer(offering)));
    return consult(
      cli,
      ["--kubeconfig", file, "--talosconfig", talosconfig, "--within", within],
      environment,
    );
  };

  test("skips the machines without a talosconfig, exits with status 0 and prints a note", async () => {
    const file = kubeconfig(folder, await at(apiServer(offering)));
    const { status, report } = await consult(cli, ["--kubeconfig", file]);
    expect([status, report.unseen]).toEqual([0, []]);
    expect(report.notes).toEqual([
      expect.stringContaining("without a talosconfig, the machines' release, schematic"),
    ]);
  });

  test("exits with status 2 if talosctl does not exist or is another program", async () => {
    const missing = await look({ TALOS_GPU_TALOSCTL: "/nowhere/talosctl" });
    expect([missing.status, missing.report.status]).toEqual([2, 2]);
    expect(missing.report.unseen[0]).toMatch(
      /the machines could not be read: talosctl: \/nowhere\/talosctl does not exist/,
    );
    const other = await look({ TALOS_GPU_TALOSCTL: "/bin/echo" });
    expect(other.status).toBe(2);
    expect(other.report.unseen[0]).toContain("prints no version, so this program is not talosctl");
  });

  test("kills a talosctl that hangs, with its child processes", async () => {
    const { program, pids } = hangingProgram(folder, "talosctl");
    const { status, report } = await look({ TALOS_GPU_TALOSCTL: program });
    expect(status).toBe(2);
    expect(report.unseen[0]).toMatch(/talosctl version did not end within/);
    await waitUntilEnded(pids());
  });

  test("kills a credential plugin that hangs, with its child processes", async () => {
    const { program, pids } = hangingProgram(folder, "plugin");
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: program,
      interactiveMode: "Never",
    };
    const file = kubeconfig(folder, await at(apiServer(offering)), { exec });
    const { status, report } = await consult(cli, ["--kubeconfig", file, "--within", "4"]);
    expect(status).toBe(2);
    expect(report.unseen[0]).toMatch(/the credential plugin `.*plugin` did not end within 0\.8 s/);
    await waitUntilEnded(pids());
  });

  test("uses the token of a credential plugin", async () => {
    const token = JSON.stringify({ kind: "ExecCredential", status: { token: "t0ken" } });
    let seen: string | undefined;
    const url = await at(
      listen((request, response) => {
        seen = request.headers.authorization;
        response.end(JSON.stringify({ kind: "NodeList", items: [] }));
      }),
    );
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "echo",
      args: [token],
      interactiveMode: "Never",
    };
    const { status } = await consult(cli, ["--kubeconfig", kubeconfig(folder, url, { exec })]);
    expect([status, seen]).toEqual([1, "Bearer t0ken"]);
  });
});

describe("the doctor", () => {
  const stack = path.resolve(__dirname, "../../stacks/Pulumi.rtx5070ti.yaml");

  test("reports an empty cluster, with or without a stack", async () => {
    const file = kubeconfig(folder, await at(apiServer({})));
    for (const more of [[], ["--stack", stack]]) {
      const { status, report } = await consult(cli, ["--kubeconfig", file, ...more]);
      expect(status).toBe(1);
      expect(report.differences.map(({ about }) => about)).toContain(
        more.length > 0 ? "node k8s-worker4" : "cluster",
      );
    }
  });

  test("does not compare a cluster with the stack's plan if none of its nodes is in the stack", async () => {
    const file = kubeconfig(folder, await at(apiServer(offering)));
    const { status, report } = await consult(cli, ["--kubeconfig", file, "--stack", stack]);
    expect([status, report.differences]).toEqual([2, []]);
    expect(report.unseen).toEqual([
      expect.stringContaining(
        "this is not the stack's cluster: its nodes are gpu-1, but the stack's machines are k8s-worker4",
      ),
    ]);
  });

  test("prints plain lines without colours if its output is no terminal", async () => {
    const file = kubeconfig(
      folder,
      await at(apiServer({ ...offering, "/apis/apps/v1/daemonsets": [] })),
    );
    const { status, stdout } = await runCommand(cli, ["doctor", "--kubeconfig", file]);
    expect(status).toBe(1);
    expect(stdout).toContain(
      "✖ is wrong: cluster: none of the GPU Operator, NVIDIA's device plugin and its DRA driver is installed, so nothing offers GPUs\n",
    );
    expect(stdout).not.toContain("\x1b[");
    expect(stdout).not.toContain("nothing found");
  });
});
