import * as fs from "node:fs";
import * as http from "node:http";
import * as https from "node:https";
import type { AddressInfo } from "node:net";
import * as os from "node:os";
import * as path from "node:path";
import { KubernetesApi, type Kubeconfig } from "../../components/clients/kubernetes/api";
import { answerProblem, connectionProblem } from "../../components/clients/kubernetes/error";

const errorWithCode = (message: string, code?: string): Error =>
  Object.assign(new Error(message), { code });

test.each([
  [
    "a refused connection",
    "unreachable",
    errorWithCode("connect ECONNREFUSED", "ECONNREFUSED"),
    /no program listens there/,
  ],
  [
    "an unknown host name",
    "unreachable",
    errorWithCode("getaddrinfo", "ENOTFOUND"),
    /cannot be found/,
  ],
  [
    "a reset connection",
    "unreachable",
    errorWithCode("socket hang up", "ECONNRESET"),
    /resets the connection/,
  ],
  [
    "a timeout",
    "unreachable",
    Object.assign(new Error("aborted"), { name: "TimeoutError" }),
    /does not answer within 30 s/,
  ],
  [
    "a certificate of an unknown authority",
    "refused",
    errorWithCode("self-signed", "DEPTH_ZERO_SELF_SIGNED_CERT"),
    /another cluster/,
  ],
  ["any other error", "refused", errorWithCode("the answer is too long"), /the answer is too long/],
])("%s counts as %s", (_, problem, cause, expectedMessage) => {
  const error = connectionProblem("node gpu-1", "https://api.home:6443", cause, 30_000, []);
  expect(error.problem).toBe(problem);
  expect(error.message).toMatch(expectedMessage);
});

/** The pause that an answer with status 429 requests. */
const pauseOf = (headers: http.IncomingHttpHeaders, fields: object = {}): number | undefined => {
  const body = JSON.stringify({ kind: "Status", message: "too many requests", ...fields });
  return answerProblem("nodes", "https://api.home", { status: 429, headers, body }, []).retryAfter;
};

test.each([
  ["as seconds", 7_000, { "retry-after": "7" }, {}],
  ["as a date in the past", 0, { "retry-after": new Date(0).toUTCString() }, {}],
  ["in the answer's details", 3_000, {}, { details: { retryAfterSeconds: 3 } }],
])(
  "a pause that the server sets %s is read as %d ms",
  (_, pause, headers: http.IncomingHttpHeaders, fields) =>
    expect(pauseOf(headers, fields)).toBe(pause),
);

test("a missing retry-after, or one that is no time, gives no pause", () => {
  expect(pauseOf({})).toBeUndefined();
  expect(pauseOf({ "retry-after": "soon" })).toBeUndefined();
});

test("a pause that the server sets as a date in the future is read", () => {
  const headers = { "retry-after": new Date(Date.now() + 3_600_000).toUTCString() };
  const { retryAfter } = answerProblem(
    "nodes",
    "https://api.home",
    { status: 503, headers, body: "" },
    [],
  );
  expect(retryAfter).toBeGreaterThan(3_540_000);
  expect(retryAfter).toBeLessThanOrEqual(3_600_000);
});

test("a pause in the web page of a busy proxy is read", () => {
  const answer = {
    status: 503,
    headers: { "retry-after": "5", "content-type": "text/html" },
    body: "<html>",
  };
  expect(answerProblem("nodes", "https://api.home", answer, []).retryAfter).toBe(5_000);
});

const config = (fields: Partial<Kubeconfig> = {}, server = "https://api.home"): Kubeconfig => ({
  getCurrentCluster: () => ({ name: "home", server, skipTLSVerify: false }),
  getCurrentContext: () => "home",
  getCurrentUser: () => ({ name: "me" }),
  applyToHTTPSOptions: () => Promise.resolve(),
  ...fields,
});

/** Gives the agent of each request, if the kubeconfig makes a new agent every time. */
function createAgentReader(createAgent: () => https.Agent): () => Promise<https.Agent> {
  const applyToHTTPSOptions = async (options: https.RequestOptions): Promise<void> =>
    void Object.assign(options, { agent: createAgent() });
  const api = new KubernetesApi(config({ applyToHTTPSOptions }));
  return async () => (await api["options"]("anything")).agent as https.Agent;
}

test("requests share an agent that closes idle connections, but not with another certificate", async () => {
  const certificates = ["one", "one", "two", "two"];
  const nextAgent = createAgentReader(() => new https.Agent({ cert: certificates.shift()! }));
  const agents = [await nextAgent(), await nextAgent(), await nextAgent(), await nextAgent()];
  expect(agents[0]!.options).toMatchObject({ cert: "one", keepAlive: true, timeout: 5_000 });
  expect(agents.map((agent) => agents.indexOf(agent))).toEqual([0, 0, 2, 2]);
});

test("an HTTP agent for a proxy is used unchanged", async () => {
  class Proxy extends https.Agent {}
  const proxy = new Proxy();
  expect(await createAgentReader(() => proxy)()).toBe(proxy);
});

test("the credential plugin runs once, and again after its credential has expired", async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-plugin-"));
  const printCredential = (token: string, expiry: number): string =>
    `echo '${JSON.stringify({ status: { token, expirationTimestamp: new Date(expiry).toISOString() } })}'`;
  const plugin = path.join(folder, "plugin");
  const script = `if [ -e "$0.ran" ]; then ${printCredential("two", Date.now() + 600_000)}; else touch "$0.ran"; ${printCredential("one", 0)}; fi`;
  fs.writeFileSync(plugin, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const user: { name: string; exec: object; token?: string } = {
    name: "me",
    exec: { command: plugin },
  };
  const api = new KubernetesApi(config({ getCurrentUser: () => user }));
  const tokens: (string | undefined)[] = [];
  for (let requestIndex = 0; requestIndex < 3; requestIndex++) {
    await api["options"]("anything");
    tokens.push(user.token);
  }
  fs.rmSync(folder, { recursive: true });
  expect(tokens).toEqual(["one", "two", "two"]);
});

test.each([
  ["is renewed once for all requests that were refused", ["old", "new"], 2, ["done", "done"]],
  ["that is refused again is reported", ["old", "old"], 2, [/401/, /401/]],
])("a plugin's credential %s", async (_, tokens, expectedRuns, expectedAnswers) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-refused-"));
  const plugin = path.join(folder, "plugin");
  const printCredential = (token: string): string =>
    `echo '${JSON.stringify({ status: { token } })}'`;
  const [firstToken, secondToken] = tokens as [string, string];
  const script = `echo run >> "$0.runs"; if [ -e "$0.ran" ]; then ${printCredential(secondToken)}; else touch "$0.ran"; ${printCredential(firstToken)}; fi`;
  fs.writeFileSync(plugin, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const user: { name: string; exec: object; token?: string } = {
    name: "me",
    exec: { command: plugin },
  };
  const applyToHTTPSOptions = async (options: https.RequestOptions): Promise<void> =>
    void Object.assign(options, { headers: { authorization: `Bearer ${user.token}` } });
  const server = http.createServer((request, response) => {
    const isNew = request.headers.authorization === "Bearer new";
    response
      .writeHead(isNew ? 200 : 401)
      .end(JSON.stringify(isNew ? "done" : { message: "Unauthorized" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const api = new KubernetesApi(
    config({ getCurrentUser: () => user, applyToHTTPSOptions }, address),
  );
  const requests = ["/a", "/b"].map((url) =>
    api.ask<string>("a", url).catch((error: Error) => error.message),
  );
  const answers = await Promise.all(requests);
  const runCount = fs.readFileSync(`${plugin}.runs`, "utf8").trim().split("\n").length;
  server.closeAllConnections();
  server.close();
  fs.rmSync(folder, { recursive: true });
  expect(runCount).toBe(expectedRuns);
  answers.forEach((answer, index) => expect(answer).toMatch(expectedAnswers[index]!));
});

describe("a token file", () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-token-"));
  const tokenFile = path.join(folder, "token");
  afterAll(() => fs.rmSync(folder, { recursive: true }));
  afterEach(() => void jest.restoreAllMocks());
  const writeToken = (token: string): void => fs.writeFileSync(tokenFile, `${token}\n`);

  test("is read again each minute, and its last token is kept if the file disappears", async () => {
    writeToken("one");
    const user: { name: string; tokenFile: string; token?: string } = { name: "me", tokenFile };
    const api = new KubernetesApi(config({ getCurrentUser: () => user }));
    const startTime = Date.now();
    const tokenAfter = async (seconds: number): Promise<string | undefined> => {
      jest.spyOn(Date, "now").mockReturnValue(startTime + seconds * 1_000);
      await api["options"]("anything");
      return user.token;
    };
    expect(await tokenAfter(0)).toBe("one");
    writeToken("two");
    expect(await tokenAfter(30)).toBe("one");
    expect(await tokenAfter(60)).toBe("two");
    fs.rmSync(tokenFile);
    expect(await tokenAfter(120)).toBe("two");
  });

  test("is read again if its token is refused, and the request is repeated", async () => {
    writeToken("old");
    const user: { name: string; tokenFile: string; token?: string } = { name: "me", tokenFile };
    const applyToHTTPSOptions = async (options: https.RequestOptions): Promise<void> =>
      void Object.assign(options, { headers: { authorization: `Bearer ${user.token}` } });
    const server = http.createServer((request, response) => {
      const isNew = request.headers.authorization === "Bearer new";
      writeToken("new"); // the kubelet rotates the token
      response
        .writeHead(isNew ? 200 : 401)
        .end(JSON.stringify(isNew ? "done" : { message: "Unauthorized" }));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const api = new KubernetesApi(
      config({ getCurrentUser: () => user, applyToHTTPSOptions }, address),
    );
    const answer = await api.ask<string>("a", "/a");
    server.closeAllConnections();
    server.close();
    expect(answer).toBe("done");
  });
});

test.each([
  ["with provideClusterInfo gets the cluster's data", true],
  ["without provideClusterInfo gets no data of the cluster", false],
])("a credential plugin %s", async (_, provideClusterInfo) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-exec-info-"));
  const plugin = path.join(folder, "plugin");
  const caFile = path.join(folder, "ca.crt");
  fs.writeFileSync(caFile, "PEM");
  const script = `printenv KUBERNETES_EXEC_INFO > "$0.info"; echo '{"status":{"token":"t"}}'`;
  fs.writeFileSync(plugin, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const cluster = {
    name: "home",
    server: "https://api.home",
    skipTLSVerify: false,
    caFile,
    tlsServerName: "api",
  };
  const getCurrentCluster = () => ({ ...cluster, execConfig: { audience: "home" } });
  const user = { name: "me", exec: { command: plugin, provideClusterInfo } };
  await new KubernetesApi(config({ getCurrentCluster, getCurrentUser: () => user }))["options"](
    "anything",
  );
  const info = JSON.parse(fs.readFileSync(`${plugin}.info`, "utf8")) as { spec: object };
  fs.rmSync(folder, { recursive: true });
  // client.authentication.k8s.io/v1, ExecCredentialSpec and Cluster.
  const expectedCluster = {
    server: "https://api.home",
    "tls-server-name": "api",
    "certificate-authority-data": Buffer.from("PEM").toString("base64"),
    config: { audience: "home" },
  };
  expect(info.spec).toEqual(
    provideClusterInfo ? { cluster: expectedCluster, interactive: false } : { interactive: false },
  );
});

test("an object is read by its kind, and an unknown kind is looked for in a new list of kinds", async () => {
  const resources = [{ kind: "Node", name: "nodes", namespaced: false }];
  const answers: Record<string, object> = {
    "/api/v1": { resources },
    "/api/v1/nodes/gpu-1": { metadata: { name: "gpu-1" } },
    "/api/v1/namespaces/gpu/pods/a": { metadata: { name: "a" } },
  };
  const server = http.createServer((request, response) => {
    const answer = answers[request.url!];
    response.writeHead(answer ? 200 : 404).end(JSON.stringify(answer ?? { message: "not found" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const api = new KubernetesApi(
    config({}, `http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
  );
  const pod = { apiVersion: "v1", kind: "Pod", name: "a", namespace: "gpu" };
  expect(await api.read({ apiVersion: "v1", kind: "Node", name: "gpu-1" })).toEqual({
    metadata: { name: "gpu-1" },
  });
  expect(await api.read(pod)).toBeUndefined();
  resources.push({ kind: "Pod", name: "pods", namespaced: true });
  expect(await api.read(pod)).toEqual({ metadata: { name: "a" } });
  expect(
    await api.read({ apiVersion: "example.com/v1", kind: "Thing", name: "a" }),
  ).toBeUndefined();
  server.closeAllConnections();
  server.close();
});
