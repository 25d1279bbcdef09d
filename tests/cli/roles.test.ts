import * as fs from "node:fs";
import * as path from "node:path";
import { withAway } from "../../components/lookups/machines-away";
import { withExistingRuntimeClass } from "../../components/lookups/runtime-class-there";
import type { Kubeconfig } from "../../components/clients/kubernetes/api";
import { KubernetesCluster } from "../../components/program/cluster/cluster";
import {
  type ResourceAttributes,
  rulesAllow,
  attributesOfRequest,
  formatAttributes,
  attributesOfRules,
  type Rule,
  rulesOf,
} from "../support/rbac";
import {
  setupCli,
  writeKubeconfig,
  type RunningServer,
  startServer,
  clusterWithGpu,
  runCommand,
} from "./support";

// Each role of docs/roles is sufficient for its purpose, and has no right that the command does not use.

const { folder, cli, urlOf } = setupCli();
const roles = path.join(__dirname, "../../docs/roles");
const rulesOfRole = (name: string): Rule[] => rulesOf(path.join(roles, `${name}.yaml`));

const pod = (name: string, restartCount: number) => ({
  metadata: { namespace: "nvidia", name, uid: name },
  spec: { nodeName: "gpu-1", containers: [{ name: "ctr" }] },
  status: {
    phase: "Running",
    containerStatuses: [
      {
        name: "ctr",
        restartCount,
        ready: false,
        state: { running: {} },
        lastState: { terminated: { exitCode: 1 } },
      },
    ],
  },
});
const objects: Record<string, unknown[]> = {
  ...clusterWithGpu,
  "/api/v1/pods": [pod("nvidia-device-plugin-x", 1)],
  "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations": [
    { webhooks: [{ clientConfig: { service: { namespace: "kyverno", name: "kyverno" } } }] },
  ],
};
const kinds = {
  "/api/v1": [{ kind: "Node", name: "nodes", namespaced: false }],
  "/apis/node.k8s.io/v1": [{ kind: "RuntimeClass", name: "runtimeclasses", namespaced: false }],
} as Record<string, object[]>;

/** An API server that allows what the rules allow, and the list of requests that it received. */
function startServerWithRules(rules: readonly Rule[]): {
  server: Promise<RunningServer>;
  requests: ResourceAttributes[];
} {
  const requests: ResourceAttributes[] = [];
  const server = startServer((request, response) => {
    const { pathname } = new URL(request.url!, "http://cluster");
    const right = attributesOfRequest(request);
    if (right !== undefined) requests.push(right);
    response.setHeader("content-type", "application/json");
    if (right !== undefined && !rulesAllow(rules, right)) {
      response.statusCode = 403;
      const message = `forbidden: cannot ${formatAttributes(right)}`;
      response.end(
        JSON.stringify({
          kind: "Status",
          status: "Failure",
          reason: "Forbidden",
          code: 403,
          message,
        }),
      );
    } else if (right === undefined)
      response.end(JSON.stringify({ resources: kinds[pathname] ?? [] }));
    else if (right.resource === "pods/log") response.end("a line\n");
    else if (right.verb === "list")
      response.end(JSON.stringify({ metadata: {}, items: objects[pathname] ?? [] }));
    else
      response.end(
        JSON.stringify({
          metadata: { name: "gpu-1", resourceVersion: "1", annotations: {} },
          spec: {},
        }),
      );
  });
  return { server, requests };
}

/** Names of rights, each once, sorted. */
const namesOf = (rights: readonly ResourceAttributes[]): string[] =>
  [...new Set(rights.map(formatAttributes))].sort();

/** Names of the rights that these roles give together. */
const rightsOfRoles = (...names: string[]): string[] =>
  namesOf(attributesOfRules(names.flatMap(rulesOfRole)));

/** Runs a verb of the command against such a server. */
async function run(rules: Rule[], ...args: string[]) {
  const { server, requests } = startServerWithRules(rules);
  const result = await runCommand(cli, [
    ...args,
    "--kubeconfig",
    writeKubeconfig(folder, await urlOf(server)),
  ]);
  return { result, requests };
}

describe.each([
  ["doctor", ["--json"]],
  ["discover", []],
  ["bug-report", ["--within", "20", "--out", "report"]],
])("the role of %s", (verb, args) => {
  test("is sufficient, and each of its rights is used", async () => {
    fs.rmSync(path.join(folder, "report"), { recursive: true, force: true });
    const { requests } = await run(rulesOfRole(verb), verb, ...args);
    const requested = namesOf(requests);
    const granted = rightsOfRoles(verb);
    // Helm's records need the right to read every Secret. Without it the doctor examines the rest.
    const denied = requested.filter((name) => !granted.includes(name));
    expect(denied).toEqual(verb === "discover" ? [] : ["list secrets"]);
    const unused = granted.filter((name) => !requested.includes(name));
    expect(unused).toEqual([]);
  });
});

test("the role for Helm's records has exactly the rights that the doctor lacks without it", async () => {
  const rules = [...rulesOfRole("doctor"), ...rulesOfRole("helm-records")];
  const { requests } = await run(rules, "doctor", "--json");
  expect(namesOf(requests)).toEqual(rightsOfRoles("doctor", "helm-records"));
});

test("the doctor reports pods as unread if its role lacks the right to list them", async () => {
  const [first, ...rest] = rulesOfRole("doctor");
  const withoutPods = first!.resources.filter((resource) => resource !== "pods");
  const { result, requests } = await run(
    [{ ...first!, resources: withoutPods }, ...rest],
    "doctor",
    "--json",
  );
  expect(namesOf(requests)).toContain("list pods");
  expect(result.stdout).toMatch(/pods could not be listed/);
});

test("the role of a preview has exactly the rights that the package uses", async () => {
  const { server, requests } = startServerWithRules(rulesOfRole("preview"));
  const text = fs.readFileSync(writeKubeconfig(folder, await urlOf(server)), "utf8");
  const machines = {
    "gpu-1": { address: "192.0.2.1", role: "worker", mayBeAway: true, gpus: [{ model: "L4" }] },
  };
  const stack = { kubeconfig: text, devicePlugin: { version: "0.18.2" }, machines };
  await Promise.all([withAway(stack), withExistingRuntimeClass(stack)]);
  expect(namesOf(requests)).toEqual(rightsOfRoles("preview"));
});

test("the role of a reboot has exactly the rights that a drain uses", async () => {
  const { server, requests } = startServerWithRules(rulesOfRole("reboot"));
  const address = await urlOf(server);
  const config: Kubeconfig = {
    getCurrentCluster: () => ({ name: "fake", server: address, skipTLSVerify: true }),
    getCurrentContext: () => "fake",
    getCurrentUser: () => ({ name: "fake" }),
    applyToHTTPSOptions: async () => undefined,
  };
  const cluster = new KubernetesCluster(config, []);
  // The calls of components/program/upgrade: precheck.ts, drain.ts, reach.ts, webhooks.ts.
  await cluster.nodes();
  await cluster.node("gpu-1");
  await cluster.isAlone();
  await cluster.cordon("gpu-1", "a", "b");
  await cluster.pods("gpu-1");
  await cluster.attachedVolumes("gpu-1");
  await cluster.webhookServices();
  await cluster.reportedPods("gpu-1");
  await cluster.evict({ namespace: "nvidia", name: "x", uid: "1" } as Parameters<
    typeof cluster.evict
  >[0]);
  await cluster.uncordon("gpu-1", "a");
  await cluster.removeAnnotation("gpu-1", "a");
  expect(namesOf(requests)).toEqual(rightsOfRoles("reboot"));
});

test("a reboot calls exactly the methods of the cluster that this file tests", () => {
  const sources = path.join(__dirname, "../../components/program/upgrade");
  const texts = fs
    .readdirSync(sources)
    .filter((file) => file !== "addons.ts") // tests/program/upgrade/addons: a reboot changes no addon
    .map((file) => fs.readFileSync(path.join(sources, file), "utf8"));
  const calledMethods = texts.flatMap((text) =>
    [...text.matchAll(/\bcluster\.(\w+)\(/g)].map(([, method]) => method!),
  );
  expect([...new Set(calledMethods)].sort()).toEqual([
    "attachedVolumes",
    "cordon",
    "evict",
    "isAlone",
    "node",
    "nodes",
    "pods",
    "removeAnnotation",
    "reportedPods",
    "uncordon",
    "webhookServices",
  ]);
});

test.each([
  ["GET", "/api/v1/pods?limit=5", "list pods"],
  ["GET", "/api/v1/namespaces", "list namespaces"],
  ["GET", "/api/v1/namespaces/a", "get namespaces"],
  ["GET", "/api/v1/namespaces/a/pods", "list pods"],
  ["GET", "/api/v1/namespaces/a/pods/b/log?container=c", "get pods/log"],
  ["POST", "/api/v1/namespaces/a/pods/b/eviction", "create pods/eviction"],
  ["PATCH", "/api/v1/nodes/a", "patch nodes"],
  ["DELETE", "/apis/batch/v1/namespaces/a/jobs/b", "delete jobs.batch"],
  ["GET", "/apis/batch/v1/jobs?watch=true", "watch jobs.batch"],
])("the request %s %s needs the right to %s", (method, url, expected) =>
  expect(formatAttributes(attributesOfRequest({ method, url })!)).toBe(expected),
);

test.each(["/api", "/apis/apps/v1", "/version"])("the request for %s needs no right", (url) =>
  expect(attributesOfRequest({ method: "GET", url })).toBeUndefined(),
);
