import { selectorsOf } from "../../components/recipe/cluster/claim";
import { offeredBy } from "../../components/clients/kubernetes/devices";
import { clusterArgs, registerCluster, resourceTypes } from "../support/gpu-cluster";
import { findResource, findResources, dependencyUrns } from "../support/graph";

const template = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate";

test.each([
  [{}, []],
  [
    { memory: "40Gi" },
    [`device.capacity['gpu.nvidia.com'].memory.compareTo(quantity("40Gi")) >= 0`],
  ],
  // The driver's names differ from those of the tables.
  [
    { architecture: "Ada" as const },
    [`device.attributes['gpu.nvidia.com'].architecture == "Ada Lovelace"`],
  ],
  [
    { product: "NVIDIA H100 NVL" },
    [`device.attributes['gpu.nvidia.com'].productName == "NVIDIA H100 NVL"`],
  ],
  [
    { architecture: "Hopper" as const, cel: ["true"] },
    [`device.attributes['gpu.nvidia.com'].architecture == "Hopper"`, "true"],
  ],
])("the claim %j has the CEL selectors %j", (claimSpec, expressions) => {
  expect(selectorsOf(claimSpec)).toEqual(expressions);
});

test("with dra, each pod uses a claim template of the stack instead of a RuntimeClass", async () => {
  const outputs: Record<string, unknown> = {};
  const run = await registerCluster(
    clusterArgs("dra"),
    {},
    ({ runtimeClassName, gpuResourceName }) => {
      runtimeClassName.apply((value) => (outputs["runtimeClassName"] = value));
      gpuResourceName.apply((value) => (outputs["gpuResourceName"] = value));
    },
  );
  expect(outputs).toEqual({ runtimeClassName: "", gpuResourceName: "gpu.nvidia.com" });
  const templates = findResources(run, template);
  const requests = templates.map(({ inputs }) => inputs["spec"].spec.devices.requests[0].exactly);
  for (const request of requests)
    expect(request).toMatchObject({ deviceClassName: "gpu.nvidia.com", count: 1 });
  const selectorCounts = requests.map(({ selectors = [] }) => selectors.length as number);
  expect(selectorCounts.sort()).toEqual([0, 1, 1, 1]);

  const podTemplates = [
    ...findResources(run, resourceTypes.job),
    ...findResources(run, resourceTypes.deployment),
  ].map(({ inputs }) => inputs["spec"].template);
  const pods = [...podTemplates, findResource(run, resourceTypes.pod).inputs]
    .map(({ spec }) => spec)
    .filter(({ containers: [{ resources }] }) => {
      const requestsGpus = resources?.limits?.["nvidia.com/gpu"] !== undefined;
      return requestsGpus || resources?.claims !== undefined;
    });
  expect(pods).toHaveLength(5); // two tests, two servers and a pod
  const names = templates.map(({ inputs }) => inputs["metadata"].name as string);
  for (const { resourceClaims, containers, runtimeClassName } of pods) {
    expect(names).toContain(resourceClaims[0].resourceClaimTemplateName);
    expect(containers[0].resources.claims).toEqual([{ name: resourceClaims[0].name }]);
    expect(runtimeClassName).toBeUndefined();
  }
  const gate = findResource(run, resourceTypes.program, "lab-gate");
  expect(dependencyUrns(run, findResource(run, resourceTypes.pod))).toContain(gate.urn);
  expect(findResources(run, "kubernetes:node.k8s.io/v1:RuntimeClass")).toEqual([]);
});

test("a changed claim gets a template with a new name", async () => {
  const templateNames = async (claim: object): Promise<string[]> => {
    const run = await registerCluster(
      clusterArgs("dra", { workloads: { pods: { one: { image: "busybox", claim } } } }),
    );
    return findResources(run, template).map(({ inputs }) => inputs["metadata"].name as string);
  };
  const namesBefore = await templateNames({});
  const namesAfter = await templateNames({ memory: "8Gi" });
  expect(namesBefore.filter((name) => !namesAfter.includes(name))).toEqual([
    expect.stringMatching(/^one-gpus-[0-9a-f]{6}$/),
  ]);
});

test("a pod uses the user's claim or template, and the stack creates no template for it", async () => {
  const pods = {
    one: { image: "busybox", claim: { resourceClaimName: "shared" } },
    two: { image: "busybox", claim: { resourceClaimTemplateName: "slice" } },
  };
  const run = await registerCluster(clusterArgs("dra", { workloads: { pods } }));
  const specs = findResources(run, resourceTypes.pod).map(({ inputs }) => inputs["spec"]);
  expect(specs.flatMap(({ resourceClaims }) => resourceClaims)).toEqual([
    { name: "gpus", resourceClaimName: "shared" },
    { name: "gpus", resourceClaimTemplateName: "slice" },
  ]);
  for (const { containers } of specs)
    expect(containers[0].resources.claims).toEqual([{ name: "gpus" }]);
  expect(
    findResources(run, template).filter(({ inputs }) =>
      /^(one|two)-/.test(inputs["metadata"].name),
    ),
  ).toEqual([]);
});

test("a node offers its allocatable resources and the whole cards in its ResourceSlices", () => {
  const node = { metadata: { name: "a" }, status: { allocatable: { cpu: "4" } } };
  const device = (type: string) => ({ name: type, attributes: { type: { string: type } } });
  const slice = (nodeName: string, driver: string, ...types: string[]): any => ({
    spec: { nodeName, driver, pool: {}, devices: types.map(device) },
  });
  const slices = [
    slice("a", "gpu.nvidia.com", "gpu", "gpu"),
    slice("a", "gpu.nvidia.com", "mig"),
    slice("a", "compute-domain.nvidia.com", "channel"),
    slice("b", "gpu.nvidia.com", "gpu"),
  ];
  expect(offeredBy(node, slices)).toEqual({ cpu: "4", "gpu.nvidia.com": "2" });
  expect(offeredBy(node, [])).toEqual({ cpu: "4" });
});
