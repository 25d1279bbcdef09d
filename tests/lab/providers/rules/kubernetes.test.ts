import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { KubernetesProvider } from "../../../../lab/providers/kubernetes";
import { handedOver } from "../../../../lab/providers/kubernetes/cluster";
import type { CallContext, Properties } from "../../../../lab/providers/serve";
import { reveal, UNKNOWN } from "../../../../lab/providers/values";
import { builtTool } from "../../built-tool";

// What the real Kubernetes provider refuses before it asks a cluster, by its sources: pulumi-kubernetes v4.32.0,
// provider/pkg/provider. What the API server refuses, the real one refuses in the lab.

const provider = (config: Properties = {}): KubernetesProvider => {
  const made = new KubernetesProvider({ helm: builtTool("helm") ?? "helm", charts: (repo, chart) => [chart, repo] });
  made.configure(config);
  return made;
};

const warnings: string[] = [];
const context = (more: Partial<CallContext> = {}): CallContext => ({
  ...{ urn: "", name: "it", oldInputs: {}, oldOutputs: {}, secretInputs: [], ignoreChanges: [] },
  ...{ randomSeed: new Uint8Array(8), signal: new AbortController().signal },
  log: (_severity, message) => void warnings.push(message),
  ...more,
});

const check = async (type: string, inputs: Properties, config: Properties = {}) =>
  provider(config).check(type, {}, inputs, context());

test.each([
  ["a patch without a name", "provider.go, Check", "kubernetes:core/v1:NodePatch", {}, "metadata.name"],
  [
    "a name to be generated",
    "provider.go, Check: not in server-side apply",
    "kubernetes:core/v1:ConfigMap",
    { metadata: { generateName: "a-" } },
    "metadata.generateName",
  ],
  ["a release without a chart", "helm_release.go, helmLoad", "kubernetes:helm.sh/v3:Release", {}, "chart"],
])("refuses %s (%s)", async (_rule, _source, type, inputs, at) => {
  const { failures } = await check(type, inputs);
  expect(failures.map(({ property }) => property)).toEqual([at]);
});

test("refuses patches without server-side apply (provider.go, Check)", async () => {
  const asked = check("kubernetes:core/v1:NodePatch", { metadata: { name: "n" } }, { enableServerSideApply: "false" });
  await expect(asked).rejects.toThrow("server-side apply");
});

/** A kubeconfig of a server. */
const kubeconfigOf = (server: string): string =>
  JSON.stringify({
    "current-context": "it",
    contexts: [{ name: "it", context: { cluster: "it" } }],
    clusters: [{ name: "it", cluster: { server } }],
  });

/** Calls to an API server that answers every request so, by method and path, while something is done with it. */
async function asked(
  answer: (call: string, count: number) => { code?: number; body?: object },
  work: (made: KubernetesProvider) => Promise<void>,
): Promise<string[]> {
  const calls: string[] = [];
  const server = createServer(({ method, url = "" }, response) => {
    const count = calls.push(`${method} ${url.split("?")[0]}`);
    const { code = 200, body = {} } = answer(calls.at(-1)!, count);
    response.writeHead(code).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    const { port } = server.address() as AddressInfo;
    await work(provider({ kubeconfig: kubeconfigOf(`http://127.0.0.1:${port}`) }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
  return calls;
}

test("a cluster that does not answer at first is unreachable until the update ends (provider.go, Configure: clusterUnreachable)", async () => {
  const unready = (_call: string, count: number) => ({ code: count === 1 ? 503 : 200 });
  const calls = await asked(unready, async (made) => {
    const create = (preview: boolean) =>
      made.create("kubernetes:core/v1:ConfigMap", { metadata: { name: "a" } }, preview, "", 0, context());
    await expect(create(false)).rejects.toThrow(
      "configured Kubernetes cluster is unreachable: unable to load schema information from the API server",
    );
    await expect(create(false)).rejects.toThrow("configured Kubernetes cluster is unreachable");
    expect(await create(true)).toEqual({ id: "", outputs: { metadata: { name: "a" } } });
  });
  expect(calls).toHaveLength(1);
});

const kinds = (name: string, kind: string) => ({ resources: [{ name, kind, namespaced: kind !== "Node" }], items: [] });

test("the end of a patch asks not whether the object is there, and makes one that is gone (ssa/actions.go, Relinquish)", async () => {
  const calls = await asked(
    () => ({ body: kinds("nodes", "Node") }),
    (made) => made.delete("kubernetes:core/v1:NodePatch", "n", { metadata: { name: "n" } }, 0, context()),
  );
  expect(calls.slice(1)).toEqual(["GET /api/v1", "PATCH /api/v1/nodes/n"]);
});

test.each([
  ["core/v1:Service", "services", true],
  ["core/v1:PersistentVolumeClaim", "persistentvolumeclaims", true],
  ["core/v1:Pod", "pods", false],
  ["core/v1:Namespace", "namespaces", false],
])(
  "skipAwait: is the end of a %s waited for: %s %s (metadata/overrides.go, allowsSkipAwaitWithDelete)",
  async (type, plural, waits) => {
    const metadata = { name: "a", namespace: "b", annotations: { "pulumi.com/skipAwait": "true" } };
    const calls = await asked(
      () => ({ body: kinds(plural, type.split(":")[1]!) }),
      (made) => made.delete(`kubernetes:${type}`, "b/a", { metadata }, 0, context({ oldInputs: { metadata } })),
    );
    expect(calls.at(-1)!.startsWith("GET")).toBe(waits);
  },
);

const wrote = (manager: string, operation: string, ...names: string[]) => ({
  ...{ manager, operation },
  fieldsV1: { "f:spec": Object.fromEntries(names.map((name) => [`f:${name}`, {}])) },
});
const controllers = { ...wrote("kube-controller-manager", "Update", "volumeName"), subresource: "status" };
test.each([
  ["a creation", [wrote("pulumi-kubernetes", "Update", "a"), controllers], [controllers, wrote("us", "Apply", "a")]],
  [
    "a creation and an edit, beside what an apply wrote",
    [wrote("us", "Apply", "b"), wrote("pulumi-kubernetes", "Update", "a"), wrote("kubectl-edit", "Update", "c")],
    [wrote("us", "Apply", "b", "a", "c")],
  ],
  ["an apply alone: nothing", [wrote("us", "Apply", "a"), controllers], undefined],
])("an update takes over the fields of %s (await.go, fixCSAFieldManagers)", (_, before, after) => {
  expect(handedOver(before, "us")).toEqual(after);
});

test("refuses lists (provider.go, Check: IsListURN)", async () => {
  await expect(check("kubernetes:core/v1:ConfigMapList", {})).rejects.toThrow("not this");
});

test("a release's chart is not fetched while anything of it is unknown (helm_release.go, Check: ContainsUnknowns)", async () => {
  const { failures } = await check("kubernetes:helm.sh/v3:Release", { chart: "gone", values: { a: UNKNOWN } });
  expect(failures).toEqual([]);
});

test("null values are told of once (helm_release.go, Check: AllowNullValues)", async () => {
  await check("kubernetes:helm.sh/v3:Release", { chart: "gone", allowNullValues: true, values: { a: UNKNOWN } });
  expect(warnings.filter((line) => line.includes("deprecated"))).toHaveLength(1);
});

const helm = builtTool("helm") ? test : test.skip;

helm("a chart that Helm does not find is a finding at `chart` (helm_release.go, Check)", async () => {
  const { failures } = await check("kubernetes:helm.sh/v3:Release", { chart: "/gone", values: {} });
  expect(failures).toEqual([
    { property: "chart", reason: expect.stringContaining("check the chart name and repository configuration.") },
  ]);
});

test("a Secret's contents are secret, whatever the program says (provider.go, annotateSecrets)", async () => {
  const { inputs } = await check("kubernetes:core/v1:Secret", { stringData: { a: "b" }, data: { c: "ZA==" } });
  expect(
    reveal(inputs)
      .secrets.map(([first]) => first)
      .sort(),
  ).toEqual(["data", "stringData"]);
});

// helm_release.go, Diff: forceNewFields; provider.go, Diff: deleteBeforeReplace is for objects alone.
test.each([
  [{ name: "b" }, ["name"]],
  [{ namespace: "b" }, ["namespace"]],
  [{ values: { a: 1 } }, []],
  [{ version: "2" }, []],
])("a release that changes by %j is replaced for %j", async (more, replaces) => {
  const olds = { name: "a", namespace: "a", chart: "c", version: "1", values: {} };
  const found = await provider().diff("kubernetes:helm.sh/v3:Release", "a/a", olds, { ...olds, ...more }, context());
  expect(found).toMatchObject({ changes: true, replaces });
  expect(found.deleteBeforeReplace ?? false).toBe(false);
});
