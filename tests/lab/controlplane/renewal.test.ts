import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";

import { type RenewableControlPlane, startRenewableControlPlane } from "../../../lab/controlplane";
import { borrowControlPlane, lendControlPlanes } from "../../../lab/controlplane/lending/lent";
import { provideTools } from "../../../lab/tools";
import { untilSeen } from "../../../lab/until";
import { descendants, readOr } from "../../support/processes";
import { kubernetesOf } from "../../e2e/support/kubernetes";

/** A cold build of the binary; a warm one takes no time. */
const BUILD_LIMIT = 900_000;

let binary: string;
let parent: string;
const started: RenewableControlPlane[] = [];
const start = async (): Promise<RenewableControlPlane> => {
  const plane = await startRenewableControlPlane({ dir: path.join(parent, `cluster-${started.length}`), binary });
  started.push(plane);
  return plane;
};

beforeAll(async () => {
  ({ controlplane: binary } = await provideTools({ only: ["controlplane"] }));
  parent = fs.mkdtempSync(path.join(os.tmpdir(), "talos-gpu-renewal-"));
}, BUILD_LIMIT);
afterAll(async () => {
  await Promise.all(started.map((plane) => plane.stop()));
  fs.rmSync(parent, { recursive: true, force: true });
});

/** What a lab leaves that was cut off: namespaces and kinds that wait for somebody, nodes, changed and deleted objects. */
async function use({ adminKubeconfig }: { adminKubeconfig: string }): Promise<void> {
  const make = async (where: string, body: object, method = "POST"): Promise<void> => {
    const { status, body: answer } = await kubernetesOf(adminKubeconfig).answer(method, where, body);
    if (status >= 300) throw new Error(`${method} ${where}: ${status} ${JSON.stringify(answer)}`);
  };
  const waits = { finalizers: ["example.com/somebody"] };
  await make("/api/v1/namespaces", { metadata: { name: "work" } });
  await make("/api/v1/namespaces/work/configmaps", { metadata: { name: "waits", ...waits } });
  await make("/api/v1/nodes", { metadata: { name: "machine" } });
  await make("/apis/rbac.authorization.k8s.io/v1/clusterroles/view", {}, "DELETE");
  await make("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", things);
  const served = (): Promise<number> =>
    kubernetesOf(adminKubeconfig)
      .answer("GET", kind)
      .then(({ status }) => status);
  await untilSeen("the kind is served", { seconds: 20, every: 50 }, served, (status) => status === 200);
  await make(kind, { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "one", ...waits } });
  const role = { metadata: { name: "edit" }, rules: [], aggregationRule: null };
  await make("/apis/rbac.authorization.k8s.io/v1/clusterroles/edit", role, "PUT");
  await make("/api/v1/namespaces/work", {}, "DELETE");
}

const kind = "/apis/example.com/v1/things";
const things = {
  metadata: { name: "things.example.com" },
  spec: {
    group: "example.com",
    scope: "Cluster",
    names: { plural: "things", singular: "thing", kind: "Thing" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};

/** The control plane's controllers, by their process. */
const controllersOf = ({ pid }: RenewableControlPlane): number[] =>
  descendants(pid)
    .filter(({ command }) => command.includes("\0kube-controller-manager\0"))
    .map((child) => child.pid);

/** Whether each of its components runs, as a letter of the kernel's: T is halted (proc_pid_stat(5)). */
const statesOf = ({ pid }: RenewableControlPlane): string[] =>
  descendants(pid).map((child) => /^State:\s+(\w)/m.exec(readOr(`/proc/${child.pid}/status`))?.[1] ?? "gone");

/** Every object of some kinds, but for what the API server writes anew all the time. */
async function objectsOf({ adminKubeconfig }: { adminKubeconfig: string }): Promise<unknown> {
  const kinds = [
    "/api/v1/namespaces",
    "/api/v1/nodes",
    "/api/v1/configmaps",
    "/api/v1/serviceaccounts",
    "/api/v1/services",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/apiregistration.k8s.io/v1/apiservices",
  ];
  const all = await Promise.all(kinds.map((where) => kubernetesOf(adminKubeconfig).answer("GET", where)));
  return all.map(({ body }) =>
    (body["items"] as { metadata: Record<string, unknown> }[]).map(({ metadata, ...rest }) => {
      const { resourceVersion: _version, managedFields: _fields, ...same } = metadata;
      return { metadata: same, ...rest };
    }),
  );
}

test("a used control plane is given back as it was, and works as a new one does", async () => {
  const plane = await start();
  const first = await objectsOf(plane);
  const controllers = controllersOf(plane);
  await use(plane);
  expect(await objectsOf(plane)).not.toEqual(first);
  const { removed, restored } = await plane.renew();
  expect(removed).toBeGreaterThanOrEqual(5);
  expect(restored).toBeGreaterThanOrEqual(2);
  // Others, who remember nothing of what had the same names.
  const others = controllersOf(plane);
  expect(others).toHaveLength(1);
  expect(controllers).not.toEqual(others);
  expect(await objectsOf(plane)).toEqual(first);
  expect((await kubernetesOf(plane.adminKubeconfig).answer("GET", kind)).status).toBe(404);
  expect(await plane.renew()).toEqual({ removed: 0, restored: 0 });

  await use(plane); // under the same names
  const pod = { metadata: { labels: { app: "a" } }, spec: { containers: [{ name: "a", image: "a" }] } };
  const deployment = { metadata: { name: "a" }, spec: { selector: { matchLabels: { app: "a" } }, template: pod } };
  await kubernetesOf(plane.adminKubeconfig).answer("POST", "/apis/apps/v1/namespaces/default/deployments", deployment);
  const pods = async (): Promise<number> => {
    const { body } = await kubernetesOf(plane.adminKubeconfig).answer("GET", "/api/v1/namespaces/default/pods");
    return (body["items"] as unknown[]).length;
  };
  await untilSeen("a pod of the deployment", { seconds: 20 }, pods, (count) => count === 1);
  await plane.stop();
  await expect(plane.renew()).rejects.toThrow("the control plane ended (exit status 0)");
}, 120_000);

test("a control plane is lent to one after the other, unused; who comes meanwhile gets another", async () => {
  const said: string[] = [];
  const socket = path.join(parent, "socket");
  const lender = await lendControlPlanes(socket, start, (line) => said.push(line));
  const { signal } = new AbortController();
  const folder = (name: string): string => fs.mkdtempSync(path.join(parent, name));
  const [one, two, three] = [folder("one"), folder("two"), folder("three")];

  const first = await borrowControlPlane(socket, one, signal);
  expect(first.adminKubeconfig.startsWith(one)).toBe(true);
  const beside = await borrowControlPlane(socket, two, signal);
  expect(beside.pid).not.toBe(first.pid);
  const unused = await objectsOf(first);
  await use(first);
  const itself = started.find(({ pid }) => pid === first.pid)!;
  const former = controllersOf(itself);
  await first.restartControllers();
  expect(controllersOf(itself)).toHaveLength(1);
  expect(controllersOf(itself)).not.toEqual(former);
  await first.stop();
  // Until its folder is gone, something of the lab may still run.
  expect(await objectsOf(itself)).not.toEqual(unused);
  fs.rmSync(one, { recursive: true });
  const halted = (): string[] => statesOf(itself);
  const areHalted = (states: string[]): boolean => states.join("") === "TTTT";
  await untilSeen("the first rests", { seconds: 20 }, halted, areHalted);
  const next = await borrowControlPlane(socket, three, signal);
  expect(next.pid).toBe(first.pid);
  expect(statesOf(itself)).not.toContain("T");
  expect(await objectsOf(next)).toEqual(unused);

  const ended = beside.ended;
  process.kill(beside.pid, "SIGKILL");
  expect(await ended).toMatchObject({ wanted: false });

  // One that ends while nobody has it is not lent again.
  await use(next);
  // Whose lab ends in the middle of a restart is given back all the same.
  const restarted = expect(next.restartControllers()).rejects.toThrow("has gone");
  await next.stop();
  await restarted;
  fs.rmSync(three, { recursive: true });
  await untilSeen("the first rests once more", { seconds: 20 }, halted, areHalted);
  await itself.rest(false);
  expect(await objectsOf(itself)).toEqual(unused);
  await itself.rest(true);
  expect(said).toEqual([]);
  const components = descendants(itself.pid);
  process.kill(itself.pid, "SIGKILL");
  await itself.ended;
  // They are halted, and end all the same.
  const left = (): string[] => components.map((child) => readOr(`/proc/${child.pid}/cmdline`)).filter(Boolean);
  await untilSeen("its components end", { seconds: 20 }, left, (commands) => commands.length === 0);
  const last = await borrowControlPlane(socket, folder("four"), signal);
  expect(last.pid).not.toBe(first.pid);
  expect((await kubernetesOf(last.adminKubeconfig).answer("GET", "/readyz")).status).toBe(200);
  await last.stop();
  await new Promise((resolve) => lender.close(resolve));
}, 120_000);

test("where nobody lends, who asks has the reason", async () => {
  await expect(borrowControlPlane(path.join(parent, "nobody"), parent)).rejects.toThrow(/ENOENT/);
});

test("who is told of no control plane has the reason", async () => {
  const socket = path.join(parent, "refusing");
  const start = (): Promise<never> => Promise.reject(new Error("no room on the disk"));
  const lender = await lendControlPlanes(socket, start, () => {});
  await expect(borrowControlPlane(socket, parent, new AbortController().signal)).rejects.toThrow("no room on the disk");
  await new Promise((resolve) => lender.close(resolve));
});
