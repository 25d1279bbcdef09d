import * as fs from "node:fs";
import * as path from "node:path";
import { expiredCertificate } from "./expired-certificate";
import { waitUntilEnded } from "../support/processes";
import {
  startApiServer,
  setupCli,
  runDoctor,
  writeHangingProgram,
  writeKubeconfig,
  startServer,
  clusterWithGpu,
  runCommand,
} from "./support";

const { folder, cli, urlOf } = setupCli();
const webPage = '<!DOCTYPE html><html><form action="/login"></form></html>';

const noKubeconfig =
  /--kubeconfig: cannot be read \((it|\S+) contains no cluster, so it is not a kubeconfig\)/;

function writeFile(name: string, text: string): string {
  const file = path.join(folder, name);
  fs.writeFileSync(file, text);
  return file;
}

/** A server in place of the API server, and the doctor's message about it. */
interface WrongServer {
  name: string;
  url: () => Promise<string>;
  message: RegExp;
}
const wrongServers: WrongServer[] = [
  {
    name: "a login page",
    url: () =>
      urlOf(
        startServer((_, response) => response.setHeader("content-type", "text/html").end(webPage)),
      ),
    message: /answers with a web page \(HTTP 200\): a login page or a proxy answers/,
  },
  {
    name: "a redirect to a login page",
    url: () =>
      urlOf(
        startServer((_, response) =>
          response.writeHead(302, { location: "https://login.example" }).end(),
        ),
      ),
    message:
      /redirects to https:\/\/login\.example: a login page or a proxy is in front of the API/,
  },
  {
    name: "another server that returns JSON",
    url: () =>
      urlOf(
        startServer((_, response) =>
          response.setHeader("content-type", "application/json").end('{"ok":true}'),
        ),
      ),
    message: /answers with JSON that is not a list of Kubernetes objects/,
  },
  {
    name: "a server that rejects the credentials",
    url: () => urlOf(startServer((_, response) => response.writeHead(401).end("{}"))),
    message: /does not accept the credentials \(HTTP 401\)/,
  },
  {
    name: "down",
    url: async () => "http://127.0.0.1:1",
    message: /refuses the connection: no program listens there/,
  },
  {
    name: "no URL",
    url: async () => "nowhere",
    message: /kubeconfig: the server nowhere is not a URL/,
  },
  {
    name: "a name that does not exist",
    url: async () => "https://nowhere.invalid:6443",
    message: /cannot be found/,
  },
];

describe("the doctor exits with status 2", () => {
  test.concurrent.each(wrongServers)("if the kubeconfig's server is $name", async (server) => {
    const file = writeKubeconfig(folder, await server.url());
    // A limit that suffices on a busy computer: each of these servers answers.
    const { status, report } = await runDoctor(cli, ["--kubeconfig", file, "--within", "300"]);
    expect(report.unseen).toEqual([expect.stringMatching(/^Kubernetes could not be read: /)]);
    expect(report.unseen[0]).toMatch(server.message);
    expect(status).toBe(2);
    expect(report).toMatchObject({ status: 2, differences: [], findings: [] });
  });

  test("if the API server never answers", async () => {
    const file = writeKubeconfig(folder, await urlOf(startServer(() => {})));
    const { status, report } = await runDoctor(cli, ["--kubeconfig", file, "--within", "3"]);
    expect(report.unseen).toEqual([
      expect.stringMatching(/^Kubernetes could not be read: .*does not answer within 0\.6 s/),
    ]);
    expect(status).toBe(2);
    expect(report).toMatchObject({ status: 2, differences: [], findings: [] });
  });

  test("if the client certificate has expired, and prints its name and date", async () => {
    const user = {
      "client-certificate-data": Buffer.from(expiredCertificate).toString("base64"),
      "client-key-data": "",
    };
    const url = await urlOf(startServer((_, response) => response.writeHead(401).end("{}")));
    const { status, report } = await runDoctor(cli, [
      "--kubeconfig",
      writeKubeconfig(folder, url, user),
    ]);
    expect(status).toBe(2);
    expect(report.unseen[0]).toContain(
      "the client certificate of user me (context home) expired on 2021-01-01",
    );
  });

  test.each([
    ["no kubeconfig at all", [], /KUBECONFIG is not set and ~\/\.kube\/config does not exist/],
    ["a missing kubeconfig", ["--kubeconfig", "/nowhere"], /--kubeconfig: cannot be read/],
    ["an empty kubeconfig", ["--kubeconfig", writeFile("empty", "")], noKubeconfig],
    ["a kubeconfig of null", ["--kubeconfig", writeFile("null", "null")], noKubeconfig],
    ["a web page as kubeconfig", ["--kubeconfig", writeFile("page", webPage)], noKubeconfig],
    ["a list as kubeconfig", ["--kubeconfig", writeFile("list", "[]")], noKubeconfig],
    ["a missing stack", ["--stack", "nowhere.yaml"], /--stack: there is no file nowhere\.yaml/],
    ["an unknown option", ["--kubekonfig", "x"], /Unknown option '--kubekonfig'/],
    [
      "a time limit that is no number",
      ["--within", "soon"],
      /--within: soon is not a number of seconds/,
    ],
  ])("if it gets %s", async (_, args, expected) => {
    const { status, stdout, stderr } = await runCommand(cli, ["doctor", ...args]);
    expect(status).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(expected);
    expect(stderr).not.toMatch(/^\s+at /m);
  });
});

const omniStack = path.join(__dirname, "../../stacks/Pulumi.frank.yaml");

test.each([
  ["without a stack", ["gpu-1"], /--stack: is missing/],
  [
    "of a machine that the stack does not have",
    ["gpu-9", "--stack", omniStack],
    /gpu-9: is not a machine of the stack; name one of/,
  ],
  [
    "of a machine that Omni manages",
    ["gpu-1", "--stack", omniStack],
    /gpu-1: Omni manages this machine/,
  ],
])("a reboot %s is refused", async (_, args, expected) => {
  const { status, stderr } = await runCommand(cli, ["reboot", ...args]);
  expect(status).toBe(2);
  expect(stderr).toMatch(expected);
});

describe("a doctor that cannot read everything", () => {
  const talosconfig = path.join(folder, "talosconfig");
  const runDoctorWithTalosconfig = async (
    environment: NodeJS.ProcessEnv,
    within = "5",
  ): ReturnType<typeof runDoctor> => {
    fs.writeFileSync(
      talosconfig,
      JSON.stringify({ context: "home", contexts: { home: { endpoints: ["127.0.0.1"] } } }),
    );
    const file = writeKubeconfig(folder, await urlOf(startApiServer(clusterWithGpu)));
    return runDoctor(
      cli,
      ["--kubeconfig", file, "--talosconfig", talosconfig, "--within", within],
      environment,
    );
  };

  test("skips the machines if there is no talosconfig, exits with status 0 and prints a note", async () => {
    const file = writeKubeconfig(folder, await urlOf(startApiServer(clusterWithGpu)));
    const { status, report } = await runDoctor(cli, ["--kubeconfig", file]);
    expect(status).toBe(0);
    expect(report.unseen).toEqual([]);
    expect(report.notes).toEqual([
      expect.stringContaining("without a talosconfig, the machines' release, schematic"),
    ]);
  });

  test("exits with status 2 if talosctl does not exist, or if another program is in its place", async () => {
    const missing = await runDoctorWithTalosconfig({ TALOS_GPU_TALOSCTL: "/nowhere/talosctl" });
    expect(missing.status).toBe(2);
    expect(missing.report.status).toBe(2);
    expect(missing.report.unseen[0]).toMatch(
      /the machines could not be read: talosctl: \/nowhere\/talosctl does not exist/,
    );
    const otherProgram = await runDoctorWithTalosconfig({ TALOS_GPU_TALOSCTL: "/bin/echo" });
    expect(otherProgram.status).toBe(2);
    expect(otherProgram.report.unseen[0]).toContain(
      "prints no version, so this program is not talosctl",
    );
  });

  test("kills a talosctl that hangs, with its child processes", async () => {
    const { program, pids } = writeHangingProgram(folder, "talosctl");
    const { status, report } = await runDoctorWithTalosconfig({ TALOS_GPU_TALOSCTL: program });
    expect(status).toBe(2);
    expect(report.unseen[0]).toMatch(/talosctl version did not end within/);
    await waitUntilEnded(pids());
  });

  test("kills a credential plugin that hangs, with its child processes", async () => {
    const { program, pids } = writeHangingProgram(folder, "plugin");
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: program,
      interactiveMode: "Never",
    };
    const file = writeKubeconfig(folder, await urlOf(startApiServer(clusterWithGpu)), { exec });
    const { status, report } = await runDoctor(cli, ["--kubeconfig", file, "--within", "4"]);
    expect(status).toBe(2);
    expect(report.unseen[0]).toMatch(/the credential plugin `.*plugin` did not end within 0\.8 s/);
    await waitUntilEnded(pids());
  });
});

describe("the doctor", () => {
  const stack = path.resolve(__dirname, "../../stacks/Pulumi.rtx5070ti.yaml");

  test("reports an empty cluster, with or without a stack", async () => {
    const file = writeKubeconfig(folder, await urlOf(startApiServer({})));
    for (const stackOptions of [[], ["--stack", stack]]) {
      const { status, report } = await runDoctor(cli, ["--kubeconfig", file, ...stackOptions]);
      expect(status).toBe(1);
      expect(report.differences.map(({ about }) => about)).toContain(
        stackOptions.length > 0 ? "node k8s-worker4" : "cluster",
      );
    }
  });

  test("does not compare a cluster with the stack's plan if none of its nodes is in the stack", async () => {
    const file = writeKubeconfig(folder, await urlOf(startApiServer(clusterWithGpu)));
    const { status, report } = await runDoctor(cli, ["--kubeconfig", file, "--stack", stack]);
    expect(status).toBe(2);
    expect(report.differences).toEqual([]);
    expect(report.unseen).toEqual([
      expect.stringContaining(
        "this is not the stack's cluster: its nodes are gpu-1, but the stack's machines are k8s-worker4",
      ),
    ]);
  });

  test("prints plain lines without colours if its output is no terminal", async () => {
    const file = writeKubeconfig(
      folder,
      await urlOf(startApiServer({ ...clusterWithGpu, "/apis/apps/v1/daemonsets": [] })),
    );
    const { status, stdout } = await runCommand(cli, ["doctor", "--kubeconfig", file]);
    expect(status).toBe(1);
    expect(stdout).toContain(
      "✖ is wrong: cluster: has no GPU Operator, no device plugin of NVIDIA and no DRA driver, so pods cannot request GPUs\n",
    );
    expect(stdout).not.toContain("\x1b[");
    expect(stdout).not.toContain("nothing found");
  });

  test("uses the token of a credential plugin", async () => {
    const token = JSON.stringify({ kind: "ExecCredential", status: { token: "t0ken" } });
    let authorization: string | undefined;
    const url = await urlOf(
      startServer((request, response) => {
        authorization = request.headers.authorization;
        response.end(JSON.stringify({ kind: "NodeList", items: [] }));
      }),
    );
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "echo",
      args: [token],
      interactiveMode: "Never",
    };
    const { status } = await runDoctor(cli, [
      "--kubeconfig",
      writeKubeconfig(folder, url, { exec }),
    ]);
    expect(status).toBe(1);
    expect(authorization).toBe("Bearer t0ken");
  });
});
