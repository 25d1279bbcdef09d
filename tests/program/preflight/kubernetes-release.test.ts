import { CallError } from "../../../components/clients/failure";
import type { AskedCluster } from "../../../components/program/preflight/preflight";
import { runPreflight, node, type PreflightSetup } from "./run-preflight";

const kubernetesRelease = { version: "v1.32.1", ofControlPlanes: true, settingsHash: "a" };
const schedulingContexts = "/apis/resource.k8s.io/v1alpha3/podschedulingcontexts";
const flowSchemas = {
  resource: "flowschemas",
  groupVersion: "flowcontrol.apiserver.k8s.io/v1beta3",
};
/** An update of Kubernetes from 1.31 to 1.32, with these changes. */
const upgradeTo132 = (setup: Partial<PreflightSetup> = {}): Partial<PreflightSetup> => ({
  kubernetesRelease,
  apiServers: ["v1.31.4"],
  nodes: [node({ kubelet: "v1.31.4" })],
  ...setup,
});

test("a supported Kubernetes release is checked once and remembered", async () => {
  const { outcome, lines } = await runPreflight(upgradeTo132());
  expect(outcome).toMatchObject({ release: "a" });
  expect(lines.filter((line) => line.includes("1.32.1"))).toEqual([
    expect.stringMatching(
      /^note: kube-proxy, CoreDNS and flannel keep their release .* upgrade-k8s --to 1\.32\.1`$/,
    ),
  ]);
  const unsupported = upgradeTo132({ apiServers: ["v1.29.0"] });
  expect(await runPreflight(unsupported, outcome)).toMatchObject({ outcome: { release: "a" } });
  const setupWithAnotherRelease = {
    ...unsupported,
    kubernetesRelease: { ...kubernetesRelease, settingsHash: "b" },
  };
  expect((await runPreflight(setupWithAnotherRelease, outcome)).outcome).toEqual([
    expect.stringMatching(/^kubernetesVersion: v1\.32\.1 is 3 minor releases newer than the 1\.29/),
  ]);
});

test("the Kubernetes release of a stack without owned machines is not checked", async () => {
  const { kubernetesRelease: _, ...setupWithoutRelease } = upgradeTo132({
    apiServers: ["v1.29.0"],
  });
  expect((await runPreflight(setupWithoutRelease)).outcome).not.toHaveProperty("release");
});

test("a Kubernetes release is refused if a kubelet of the cluster would be too old", async () => {
  const { outcome } = await runPreflight(upgradeTo132({ nodes: [node({ kubelet: "v1.28.2" })] }));
  expect(outcome).toEqual([expect.stringContaining("the kubelet of gpu-1 (v1.28.2)")]);
});

test("a Kubernetes release is refused if the cluster has objects of a resource that it removes", async () => {
  const objects = { [schedulingContexts]: ["shop/a", "shop/b"] };
  const { outcome, lines } = await runPreflight(
    upgradeTo132({ objectsByPath: objects, requestedApis: [{ ...flowSchemas, removed: 32 }] }),
  );
  expect(outcome).toEqual([
    expect.stringMatching(
      /^kubernetesVersion: v1\.32\.1 does not serve podschedulingcontexts of resource\.k8s\.io\/v1alpha3, but the cluster has shop\/a, shop\/b; .*; delete them first \(`kubectl delete podschedulingcontexts\.v1alpha3\.resource\.k8s\.io --all --all-namespaces`\)$/,
    ),
  ]);
  expect(lines).toContainEqual(
    expect.stringMatching(
      /^warning: Kubernetes v1\.32\.1 does not serve flowschemas of flowcontrol/,
    ),
  );
});

test("for a new patch release of Kubernetes, removed APIs are not checked", async () => {
  const clusterRequests: string[] = [];
  const { outcome } = await runPreflight(
    upgradeTo132({
      apiServers: ["v1.32.0"],
      wrapClient: (client, kind) => {
        if (kind !== "cluster") return client;
        const recordRequest = () => Promise.resolve(void clusterRequests.push("request"));
        return { ...client, requestedApis: recordRequest, objectsAt: recordRequest };
      },
    }),
  );
  expect(outcome).toMatchObject({ release: "a" });
  expect(clusterRequests).toEqual([]);
});

describe("the preflight goes on and reports what is unknown if", () => {
  test.each<[string, Partial<PreflightSetup>, RegExp]>([
    [
      "no pod of an API server is found",
      { apiServers: [] },
      /kube-system shows no pod of kube-apiserver/,
    ],
    [
      "the metrics may not be read",
      { requestedApis: undefined },
      /lack the right to read the metrics/,
    ],
    [
      "a resource may not be listed",
      { objectsByPath: { [schedulingContexts]: undefined } },
      /^not known whether the cluster has objects of \/apis\/resource/,
    ],
  ])("%s", async (_, setup, expectedLine) => {
    const { outcome, lines } = await runPreflight(upgradeTo132(setup));
    expect(outcome).toMatchObject({ release: "a" });
    expect(lines).toContainEqual(expect.stringMatching(expectedLine));
  });

  test.each<[keyof AskedCluster, string]>([
    ["apiServers", "what Kubernetes v1.32.1 changes in the cluster"],
    ["requestedApis", "whether something uses an API that Kubernetes v1.32.1 does not serve"],
    ["objectsAt", "what Kubernetes v1.32.1 changes in the cluster"],
  ])("the request %s gets no answer", async (call, unknown) => {
    const failWithoutAnswer = () => Promise.reject(new CallError("unreachable", "no answer"));
    const { outcome, lines } = await runPreflight(
      upgradeTo132({
        wrapClient: (client, kind) =>
          kind === "cluster" ? { ...client, [call]: failWithoutAnswer } : client,
      }),
    );
    expect(outcome).toMatchObject({ release: "a" });
    expect(lines).toContainEqual(`not known ${unknown} (no answer)`);
  });
});
