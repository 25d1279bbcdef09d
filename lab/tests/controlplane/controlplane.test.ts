import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { type ControlPlane, startControlPlane } from "../../controlplane";
import { startComponent } from "../../controlplane/component";
import { provideTools } from "../../tools";
import { untilSeen } from "../../until";
import { type Answer, kubernetesOf } from "../../../tests/e2e/support/kubernetes";
import { processes } from "../../../tests/support/processes";

// That nothing of it outlives a killed lab is asked by tests/e2e/failures/leaves-nothing.test.ts.

let binary: string;
let parent: string;
let running: ControlPlane;

beforeAll(async () => {
  ({ controlplane: binary } = await provideTools({ only: ["controlplane"] }));
  parent = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-controlplane-"));
  running = await startControlPlane({ dir: path.join(parent, "cluster"), binary });
}, 900_000); // a cold build of the binary
afterAll(async () => {
  await Promise.all([running?.stop(), running?.stop()]);
  expect(componentsIn(parent)).toEqual([]);
  expect(fs.readdirSync(parent)).toEqual([]);
  fs.rmSync(parent, { recursive: true });
});

const componentsIn = (folder: string): string[] =>
  processes()
    .filter(({ command }) => command.includes("\0child\0") && command.includes(folder))
    .map(({ pid, command }) => `${pid} ${command.split("\0")[2]}`);

const api = (method: string, where: string, body?: unknown): Promise<Answer> =>
  kubernetesOf(running.adminKubeconfig).answer(method, where, body);
const pod = (spec: object): object => ({
  metadata: { name: "probe" },
  spec: { containers: [{ name: "probe", image: "registry.k8s.io/pause:3.10", ...spec }] },
});

test("is of the stamped Kubernetes version, and admits a pod as soon as it says that it is ready", async () => {
  const admitted = await api("POST", "/api/v1/namespaces/default/pods?dryRun=All", pod({}));
  expect(admitted).toMatchObject({ status: 201 });
  expect((await api("GET", "/version")).body).toMatchObject({ gitVersion: "v1.36.3", major: "1", minor: "36" });
});

test.each([
  ["default", 403],
  ["kube-system", 201],
])("holds Talos' Pod Security default: a privileged pod in %s gets %d", async (namespace, status) => {
  const privileged = pod({ securityContext: { privileged: true } });
  const answer = await api("POST", `/api/v1/namespaces/${namespace}/pods?dryRun=All`, privileged);
  expect(answer.status).toBe(status);
  if (status === 403) expect(answer.body.message).toContain('violates PodSecurity "baseline:latest"');
});

test("other controllers follow on request, which work", async () => {
  const managers = (): string[] => componentsIn(parent).filter((line) => line.endsWith(" kube-controller-manager"));
  const before = managers();
  await running.restartControllers();
  expect(managers()).toHaveLength(1);
  expect(managers()).not.toEqual(before);
  await api("POST", "/api/v1/namespaces", { metadata: { name: "probe" } });
  const account = (): Promise<Answer> => api("GET", "/api/v1/namespaces/probe/serviceaccounts/default");
  await untilSeen("the service account", { seconds: 20 }, account, ({ status }) => status === 200);
});

test("abort while it starts leaves nothing", async () => {
  const stop = new AbortController();
  const dir = path.join(parent, "aborted");
  const rejected = expect(startControlPlane({ dir, binary, signal: stop.signal })).rejects.toThrow(
    "stopped by the user",
  );
  await untilSeen(
    "a component runs",
    { seconds: 20, every: 20 },
    () => componentsIn(dir),
    ({ length }) => length > 0,
  );
  stop.abort(new Error("stopped by the user"));
  await rejected;
  expect([componentsIn(dir), fs.existsSync(dir)]).toEqual([[], false]);
});

test("a component that ends is named, with the end of its log", async () => {
  const etcd = startComponent(binary, "etcd", ["--no-such-flag"], path.join(parent, "etcd.log"));
  await expect(etcd.until(() => false)).rejects.toThrow(
    /^etcd: ended \(exit status 2\), and a control plane without it cannot serve; [^]*no-such-flag/,
  );
  fs.rmSync(path.join(parent, "etcd.log"));
});

test("a folder that is there is left alone", async () => {
  const dir = fs.mkdtempSync(path.join(parent, "precious-"));
  await expect(startControlPlane({ dir, binary })).rejects.toThrow("EEXIST");
  fs.rmdirSync(dir);
});
