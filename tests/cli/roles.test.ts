import * as fs from "node:fs";
import * as path from "node:path";
import { withAway } from "../../components/lookups/machines-away";
import { withClassThere } from "../../components/lookups/runtime-class-there";
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
import { cliStand, kubeconfig, type Listening, listen, offering, runCommand } from "./stand";

// Each role of docs/roles is sufficient for its purpose, and has no right that the command does not use.

const { folder, cli, at } = cliStand();
const roles = path.join(__dirname, "../../docs/roles");
const role = (name: string): Rule[] => rulesOf(path.join(roles, `${name}.yaml`));

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
  ...offering,
  "/api/v1/pods": [pod("nvidia-device-plugin-x", 1)],
};
const kinds = {
  "/api/v1": [{ kind: "Node", name: "nodes", namespaced: false }],
  "/apis/node.k8s.io/v1": [{ kind: "RuntimeClass", name: "runtimeclasses", namespaced: false }],
} as Record<string, object[]>;

/** An API server that allows what the rules allow, and the list of requests that it received. */
function guarded(rules: readonly Rule[]): {
  server: Promise<Listening>;
  asked: ResourceAttributes[];
} {
  const asked: ResourceAttributes[] = [];
  const server = listen((request, response) => {
    const { pathname } = new URL(request.url!, "http://cluster");
    const wanted = attributesOfRequest(request);
    if (wanted !== undefined) asked.push(wanted);
    response.setHeader("content-type", "application/json");
    if (wanted !== undefined && !rulesAllow(rules, wanted)) {
      response.statusCode = 403;
      const message = `forbidden: cannot ${formatAttributes(wanted)}`;
      response.end(
        JSON.stringify({
          kind: "Status",
          status: "Failure",
          reason: "Forbidden",
          code: 403,
          message,
        }),
      );
    } else if (wanted === undefined)
      response.end(JSON.stringify({ resources: kinds[pathname] ?? [] }));
    else if (wanted.resource === "pods/log") response.end("a line\n");
    else if (wanted.verb === "list")
      response.end(JSON.stringify({ metadata: {}, items: objects[pathname] ?? [] }));
    else
      response.end(
        JSON.stringify({
          metadata: { name: "gpu-1", resourceVersion: "1", annotations: {} },
          spec: {},
        }),
      );
  });
  return { server, asked };
}

/** The requested rights, each once, sorted. */
const words = (all: readonly ResourceAttributes[]): string[] =>
  [...new Set(all.map(formatAttributes))].sort();

/** Runs a verb of the command against such a server. */
async function run(rules: Rule[], ...args: string[]) {
  const { server, asked } = guarded(rules);
  const said = await runCommand(cli, [
    ...args,
    "--kubeconfig",
    kubeconfig(folder, await at(server)),
  ]);
  return { said, asked };
}

describe.each([
  ["doctor", ["--json"]],
  ["discover", []],
  ["bug-report", ["--within", "20", "--out", "report"]],
])("the role of %s", (verb, args) => {
  test("is sufficient, and each of its rights is used", async () => {
    fs.rmSync(path.join(folder, "report"), { recursive: true, force: true });
    const { asked } = await run(role(verb), verb, ...args);
    const denied = words(asked).filter(
      (one) => !words(attributesOfRules(role(verb))).includes(one),
    );
    // Helm's records need the right to read every Secret. Without it the doctor examines the rest.
    expect(denied).toEqual(verb === "discover" ? [] : ["list secrets"]);
    expect(
      words(attributesOfRules(role(verb))).filter((one) => !words(asked).includes(one)),
    ).toEqual([]);
  });
});

test("the role for Helm's records has exactly the rights that the doctor lacks without it", async () => {
  const { asked } = await run([...role("doctor"), ...role("helm-records")], "doctor", "--json");
  expect(words(asked)).toEqual(
    words(attributesOfRules([...role("doctor"), ...role("helm-records")])),
  );
});

test("a role that lacks a needed right is noticed", async () => {
  const [first, ...rest] = role("doctor");
  const { said, asked } = await run(
    [{ ...first!, resources: first!.resources.filter((one) => one !== "pods") }, ...rest],
    "doctor",
    "--json",
  );
  expect(words(asked)).toContain("list pods");
  expect(said.stdout).toMatch(/pods could not be listed/);
});

test("the role of a preview has exactly the rights that the package uses", async () => {
  const { server, asked } = guarded(role("preview"));
  const text = fs.readFileSync(kubeconfig(folder, await at(server)), "utf8");
  const machines = {
    "gpu-1": { address: "192.0.2.1", role: "worker", mayBeAway: true, gpus: [{ model: "L4" }] },
  };
  const stack = { kubeconfig: text, devicePlugin: { version: "0.18.2" }, machines };
  await Promise.all([withAway(stack), withClassThere(stack)]);
  expect(words(asked)).toEqual(words(attributesOfRules(role("preview"))));
});

test("the role of a reboot has exactly the rights that a drain uses", async () => {
  const { server, asked } = guarded(role("reboot"));
  const address = await at(server);
  const config: Kubeconfig = {
    getCurrentCluster: () => ({ name: "fake", server: address, skipTLSVerify: true }),
    getCurrentContext: () => "fake",
    getCurrentUser: () => ({ name: "fake" }),
    applyToHTTPSOptions: async () => undefined,
  };
  const cluster = new KubernetesCluster(config, []);
  // The calls of components/program/upgrade: precheck.ts, drain.ts, reach.ts.
  await cluster.nodes();
  await cluster.node("gpu-1");
  await cluster.isAlone();
  await cluster.cordon("gpu-1", "a", "b");
  await cluster.pods("gpu-1");
  await cluster.attachedVolumes("gpu-1");
  await cluster.evict({ namespace: "nvidia", name: "x", uid: "1" } as Parameters<
    typeof cluster.evict
  >[0]);
  await cluster.uncordon("gpu-1", "a");
  await cluster.unmark("gpu-1", "a");
  expect(words(asked)).toEqual(words(attributesOfRules(role("reboot"))));
});

test("the upgrade calls exactly the methods of the cluster that this file tests", () => {
  const sources = path.join(__dirname, "../../components/program/upgrade");
  const texts = fs
    .readdirSync(sources)
    .map((file) => fs.readFileSync(path.join(sources, file), "utf8"));
  const called = texts.flatMap((text) =>
    [...text.matchAll(/\bcluster\.(\w+)\(/g)].map(([, method]) => method!),
  );
  expect([...new Set(called)].sort()).toEqual([
    "attachedVolumes",
    "cordon",
    "evict",
    "isAlone",
    "node",
    "nodes",
    "pods",
    "uncordon",
    "unmark",
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
