import * as fs from "node:fs";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { Cluster } from "../../../../lab/providers/kubernetes/cluster";
import { HelmRelease } from "../../../../lab/providers/kubernetes/helm";
import type { CallContext, Properties } from "../../../../lab/providers/serve";

// What a release asks of Helm, by pulumi-kubernetes v4.32.0, provider/pkg/provider/helm_release.go: with a Helm that writes down
// how it was called.

const folder = fs.mkdtempSync(path.join(tmpdir(), "talos-gpu-helm-rules-"));
afterAll(() => fs.rmSync(folder, { recursive: true, force: true }));

const log = path.join(folder, "log");
const helm = path.join(folder, "helm");
fs.writeFileSync(
  helm,
  `#!/bin/sh\necho "$*" >> "${log}"\ncase $1 in show) echo "version: 1.2.3";; *) echo '{"name":"a","namespace":"b","version":1}';; esac\n`,
  { mode: 0o755 },
);
const kubeconfig = JSON.stringify({
  ...{ apiVersion: "v1", kind: "Config", "current-context": "c" },
  contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
  clusters: [{ name: "c", cluster: { server: "http://127.0.0.1:1" } }],
  users: [{ name: "u", user: { token: "t" } }],
});
const cluster = Cluster.of(kubeconfig);
afterAll(() => cluster.close());

const release = new HelmRelease({ helm, temporary: folder, charts: (repo, chart, version) => [chart, repo, version] });
const context: CallContext = {
  ...{ urn: "", name: "it", oldInputs: {}, oldOutputs: {}, secretInputs: [], ignoreChanges: [] },
  ...{ randomSeed: new Uint8Array(8), signal: new AbortController().signal, log: () => undefined },
};
const inputs = { chart: "c", name: "a", namespace: "b" };

/** How Helm is called by what is done. */
async function calls(work: () => Promise<unknown>): Promise<string[]> {
  fs.writeFileSync(log, "");
  await work();
  return fs.readFileSync(log, "utf8").trim().split("\n").filter(Boolean);
}

const doing = {
  install: (more: Properties) => () => release.create(cluster, { ...inputs, ...more }, false, context),
  upgrade: (more: Properties) => () => release.update(cluster, inputs, { ...inputs, ...more }, false, context),
  uninstall: (more: Properties) => () => release.delete(cluster, { ...inputs, ...more }, context),
};

const waits = "--wait --timeout 300s";
test.each<[keyof typeof doing, Properties, string, string]>([
  ["install", {}, waits, "getTimeoutOrDefault: five minutes"],
  ["install", { timeout: 90 }, "--wait --timeout 90s", "its own limit, and not the engine's"],
  ["install", { skipAwait: true }, "--timeout 300s", "helmCreate: client.Wait = !SkipAwait"],
  ["install", { replace: true, skipCrds: true }, `${waits} --replace --skip-crds`, "helmCreate"],
  ["install", { forceUpdate: true, cleanupOnFail: true }, waits, "helmCreate has neither"],
  ["upgrade", { forceUpdate: true }, `${waits} --history-max 0 --force`, "helmUpdate: client.Force"],
  ["upgrade", { replace: true, createNamespace: true }, `${waits} --history-max 0`, "helmUpdate has neither"],
  ["upgrade", { maxHistory: 3 }, `${waits} --history-max 3`, "helmUpdate: client.MaxHistory"],
  ["uninstall", {}, waits, "Delete: uninstall.Wait"],
  ["uninstall", { timeout: 90 }, "--wait --timeout 90s", "Delete"],
  ["uninstall", { skipAwait: true }, "", "Delete: neither waits nor has a limit"],
  ["uninstall", { skipAwait: true, atomic: true }, waits, "Delete: Atomic || !SkipAwait"],
])("%s of %j: %s (%s)", async (verb, more, flags, _source) => {
  const [call = "", ...others] = await calls(doing[verb](more));
  expect(others).toEqual([]);
  const said = call.replace(/ --(values|kubeconfig|namespace|output) \S+/g, "").split(/ +(?=--)/);
  expect([said[0]!.split(" ")[0], said.slice(1).join(" ")]).toEqual([verb, flags]);
});

test("each run fetches the chart once and takes its release; a preview does nothing else (Check, Create)", async () => {
  const made = { inputs: {} as Properties };
  expect(await calls(async () => Object.assign(made, await release.check({}, inputs, context)))).toEqual([
    "show chart c",
  ]);
  expect(made.inputs["version"]).toBe("1.2.3");
  expect(await calls(() => release.create(cluster, made.inputs, true, context))).toEqual([]);
  expect(await calls(() => release.update(cluster, inputs, made.inputs, true, context))).toEqual([]);
});
