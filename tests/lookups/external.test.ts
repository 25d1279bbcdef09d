import * as pulumi from "@pulumi/pulumi";
import { withExternal } from "../../components/lookups/external-files";
import { judge } from "../../components/recipe";
import { placedProblem } from "../../components/recipe/rules";
import { withExistingRuntimeClass } from "../../components/lookups/runtime-class-there";
import { clusterArgs, registerCluster, resourceTypes } from "../support/gpu-cluster";
import { findResource, findResources } from "../support/graph";
import { readStackFile } from "../../stacks/stack-file";

/** Fields of a stack whose GPU provider is another tool's. */
const withExternalProvider = (external: object) => ({
  devicePlugin: undefined,
  gpuOperator: undefined,
  external,
});

test.each<
  [provider: string, stack: string, external: object, runtimeClassName: string | undefined]
>([
  ["the device plugin", "aarhus-h100", { kind: "devicePlugin", runtimeClassName: "" }, undefined],
  ["the operator", "rtx5070ti", { kind: "gpuOperator" }, "nvidia"],
])(
  "if %s is external, the stack installs no release, and uses the namespace talos-gpu",
  async (_, stack, external, runtimeClassName) => {
    const run = await registerCluster(clusterArgs(stack, withExternalProvider(external)));
    for (const type of [resourceTypes.release, "kubernetes:node.k8s.io/v1:RuntimeClass"])
      expect(findResources(run, type)).toEqual([]);
    expect(
      findResource(run, resourceTypes.namespace, "lab-namespace").inputs["metadata"].name,
    ).toBe("talos-gpu");
    const [smokeTest] = findResources(run, resourceTypes.job).filter(({ name }) =>
      name.startsWith("gpu-smoke-test"),
    );
    expect(smokeTest!.inputs).toMatchObject({ metadata: { namespace: "talos-gpu" } });
    expect(smokeTest!.inputs["spec"].template.spec.runtimeClassName).toBe(runtimeClassName);
    expect(
      JSON.parse(findResource(run, resourceTypes.program, "lab-preflight").inputs["stdin"]),
    ).not.toHaveProperty("chart");
    const server = findResources(run, resourceTypes.deployment)[0];
    if (server) expect(server.inputs["spec"].template.spec.runtimeClassName).toBe(runtimeClassName);
  },
);

test("an external release is reported as information, not as a warning", async () => {
  const warnSpy = jest.spyOn(pulumi.log, "warn").mockResolvedValue(undefined);
  const infoSpy = jest.spyOn(pulumi.log, "info").mockResolvedValue(undefined);
  await registerCluster(clusterArgs("rtx5070ti", withExternalProvider({ kind: "devicePlugin" })));
  const loggedLines = (logSpy: jest.SpyInstance): string[] =>
    logSpy.mock.calls.map(([line]) => line as string);
  expect(loggedLines(infoSpy).filter((line) => /another tool manages/.test(line))).toHaveLength(1);
  expect(loggedLines(warnSpy).filter((line) => /another tool manages/.test(line))).toEqual([]);
  jest.restoreAllMocks();
});

test("with an external DRA driver, the smoke test claims a card from a template", async () => {
  const worker = {
    address: "192.0.2.1",
    role: "worker",
    configuration: "adopted",
    gpus: [{ model: "RTX 3090" }],
  };
  const machines = { gpu: { ...worker, powerLimit: 300 } };
  const external = { kind: "dra", runtimeClassName: "nvidia" };
  const run = await registerCluster(
    clusterArgs("rtx5070ti", { ...withExternalProvider(external), machines, workloads: undefined }),
  );
  expect(findResources(run, resourceTypes.release)).toEqual([]);
  const [template] = findResources(run, "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate");
  const { resourceClaims, runtimeClassName } = findResources(run, resourceTypes.job)[0]!.inputs[
    "spec"
  ].template.spec;
  expect(runtimeClassName).toBeUndefined();
  expect(resourceClaims).toEqual([
    { name: "gpus", resourceClaimTemplateName: template!.inputs["metadata"].name as string },
  ]);
  expect(findResources(run, "kubernetes:apps/v1:DaemonSet").map(({ name }) => name)).toEqual([
    "lab-power-limit-300w",
  ]);
});

describe("external.files", () => {
  const files: Record<string, string> = {
    "/repo/flux/release.yaml": [
      "kind: HelmRelease",
      "metadata: { name: gpu-operator, namespace: gpu }",
      "spec:",
      "  chart: { spec: { chart: gpu-operator, version: v25.10.1 } }",
      "  values:",
      "    driver: { enabled: true }",
    ].join("\n"),
    "/repo/flux/other.yaml": "kind: Secret\n",
  };
  const readExternalFiles = (fileNames: string[], fields: object = {}) =>
    withExternal({ external: { files: fileNames, ...fields } }, "/repo/stacks", (file) => {
      if (files[file] === undefined) throw Object.assign(new Error("no"), { code: "ENOENT" });
      return files[file];
    });
  const findingsWith = (external: object) =>
    judge({ ...readStackFile("rtx5070ti"), gpuOperator: undefined, ...external }).findings.map(
      (finding) => `${finding.field}: ${placedProblem(finding)}`,
    );

  test("are read next to the stack file and checked like the stack's own release, with line numbers", () => {
    const { external } = readExternalFiles(["../flux/release.yaml"]);
    expect(external).toMatchObject({
      read: { kind: "gpuOperator", by: "Flux", version: "v25.10.1", namespace: "gpu" },
    });
    expect(findingsWith({ external })).toEqual([
      "external.values.driver.enabled: is not set to false, and the chart's default is true (../flux/release.yaml:6)",
      "external.values.toolkit.enabled: is not set to false, and the chart's default is true",
      "external.values.cdi.enabled: is not set to false on Talos ≤ 1.12, and the chart's default is true",
    ]);
  });

  test("are overridden by external.values", () =>
    expect(
      findingsWith(
        readExternalFiles(["../flux/release.yaml"], { values: { driver: { enabled: false } } }),
      ),
    ).toEqual([
      expect.stringMatching(/^external\.values\.toolkit\.enabled: /),
      expect.stringMatching(/^external\.values\.cdi\.enabled: /),
    ]));

  test.each([
    [["../flux/gone.yaml"], /external\.files: \.\.\/flux\/gone\.yaml cannot be read \(ENOENT\)/],
    [
      ["../flux/other.yaml"],
      /external\.files: the package finds no release of one of NVIDIA's charts in \.\.\/flux\/other\.yaml/,
    ],
  ])("without a readable release of NVIDIA's charts are a finding: %s", (fileNames, message) => {
    expect(findingsWith(readExternalFiles(fileNames)).join("\n")).toMatch(message);
  });

  test("are not checked for required values if a values file is missing", () => {
    const operatorRelease = { kind: "gpuOperator", version: "v26.3.3", values: {} };
    const findingsWithMissing = (...missing: object[]) =>
      findingsWith({
        talosVersion: "v1.13.6",
        external: { read: { ...operatorRelease, missing } },
      });
    expect(findingsWithMissing({ kind: "values file", name: "gpu/values.yaml" })).toEqual([]);
    expect(findingsWithMissing({ kind: "OCIRepository", name: "gpu-operator" })).toHaveLength(2);
  });

  test("are not read if `external.read` already has their content, or if the stack names no files", () => {
    expect(withExternal({ external: { files: ["x"], read: {} } })).toEqual({});
    expect(withExternal({})).toEqual({});
    expect(withExternal({ external: { kind: "devicePlugin" } })).toEqual({});
  });
});

describe("an existing RuntimeClass", () => {
  const runtimeClass = (metadata: object, handler = "nvidia", owner?: string) => ({
    apiVersion: "",
    kind: "RuntimeClass",
    name: "nvidia",
    uid: "1",
    holds: [],
    owner,
    object: { handler, metadata },
  });
  const lookUpRuntimeClass = (
    existingClass: ReturnType<typeof runtimeClass> | undefined,
    stack: object = {},
  ) =>
    withExistingRuntimeClass(
      { devicePlugin: { version: "0.18.2" }, kubeconfig: "a cluster's", ...stack },
      () => ({ read: async () => existingClass }),
      {},
    );

  test("is used instead of a new one if a user created it with kubectl", async () => {
    const existingClass = runtimeClass({ managedFields: [{ manager: "kubectl" }] });
    expect(await lookUpRuntimeClass(existingClass)).toEqual({
      devicePlugin: { version: "0.18.2", makeRuntimeClass: false },
    });
  });

  test.each([
    ["it does not exist", undefined, {}],
    ["it has another handler", runtimeClass({}, "nvidia-legacy"), {}],
    ["the operator owns it", runtimeClass({ ownerReferences: [{ kind: "ClusterPolicy" }] }), {}],
    ["a stack created it", runtimeClass({}, "nvidia", "shop/prod/x 1"), {}],
    [
      "Pulumi created it without an owner mark",
      runtimeClass({ managedFields: [{ manager: "pulumi-kubernetes-1" }] }),
      {},
    ],
    ["the stack bootstraps its cluster", runtimeClass({}), { bootstrap: true }],
    ["the stack installs no device plugin", runtimeClass({}), { devicePlugin: undefined }],
    [
      "the stack sets makeRuntimeClass",
      runtimeClass({}),
      { devicePlugin: { makeRuntimeClass: true } },
    ],
  ])("does not change the stack if %s", async (_, existingClass, stack) =>
    expect(await lookUpRuntimeClass(existingClass, stack)).toEqual({}),
  );

  test("does not change the stack if the cluster does not answer", async () => {
    const read = () => Promise.reject(new Error("connection refused"));
    expect(
      await withExistingRuntimeClass({ devicePlugin: {}, kubeconfig: "x" }, () => ({ read }), {}),
    ).toEqual({});
  });
});
