import { describeOnRealNode } from "../../../tests/e2e/support/real-node";
import {
  emulatedNode,
  type KubernetesObject,
  realNode,
  startRealNodeLab,
  type RealNodeLab,
  waitFor,
} from "./real-node-lab";

// NVIDIA's DRA driver on a real node next to an emulated node, in one stack. Its smoke tests claim a card on each
// node.

const pods = "/api/v1/namespaces/default/pods";
const claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const image = "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04";

describeOnRealNode("a real node whose cards are claimed", () => {
  let lab: RealNodeLab;
  beforeAll(async () => {
    lab = await startRealNodeLab("node-claims");
  });

  test("the emulated driver publishes the same facts of a card as the real one", async () => {
    const { items } = await lab.kubernetes.readPath("/apis/resource.k8s.io/v1/resourceslices");
    const [realFacts, emulatedFacts] = [realNode, emulatedNode].map((node) => {
      const [slice, ...furtherSlices] = (items as KubernetesObject[]).filter(
        ({ spec }) => spec.nodeName === node,
      );
      expect(furtherSlices).toEqual([]);
      const { driver, pool, devices } = slice!["spec"];
      const [{ name, capacity, attributes }] = devices;
      return {
        driver,
        pool: pool.name === node,
        name,
        capacity,
        attributes: { ...attributes, uuid: undefined },
      };
    });
    expect(emulatedFacts).toEqual(realFacts);
    expect(realFacts!.attributes).toMatchObject({
      brand: { string: "GeForce" },
      architecture: { string: "Ampere" },
    });
  });

  // From Kubernetes 1.36 on, the driver's DeviceClass serves requests for the resource (kubernetes v1.36.3
  // pkg/features, DRAExtendedResource).
  test.each([realNode, emulatedNode])(
    "a plain request of nvidia.com/gpu gets a card on %s",
    async (node) => {
      const resources = { limits: { "nvidia.com/gpu": "1" } };
      const containers = [{ name: "main", image, command: ["nvidia-smi", "-L"], resources }];
      const nodeSelector = { "kubernetes.io/hostname": node };
      const spec = { nodeSelector, restartPolicy: "Never", containers };
      await lab.kubernetes.create(pods, { metadata: { name: `plain-${node}` }, spec });
      const read = (): Promise<KubernetesObject> =>
        lab.kubernetes.readPath(`${pods}/plain-${node}`);
      await waitFor("the pod's end", read, ({ status }) => status.phase === "Succeeded");
    },
  );

  // The effect of the same `claim.resourceClaimName` in two workloads.
  test.each([realNode, emulatedNode])(
    "two pods with the same claim share its card on %s",
    async (node) => {
      const requests = [{ name: "gpu", exactly: { deviceClassName: "gpu.nvidia.com" } }];
      await lab.kubernetes.create(claims, {
        metadata: { name: `shared-${node}` },
        spec: { devices: { requests } },
      });
      const container = {
        name: "main",
        image: "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04",
        command: ["sleep", "300"],
      };
      for (const name of [`one-${node}`, `two-${node}`])
        await lab.kubernetes.create(pods, {
          metadata: { name },
          spec: {
            nodeSelector: { "kubernetes.io/hostname": node },
            containers: [{ ...container, resources: { claims: [{ name: "gpus" }] } }],
            resourceClaims: [{ name: "gpus", resourceClaimName: `shared-${node}` }],
          },
        });
      const read = (): Promise<KubernetesObject> =>
        lab.kubernetes.readPath(`${claims}/shared-${node}`);
      await waitFor("both have it", read, ({ status }) => status?.reservedFor?.length === 2);
      for (const name of [`one-${node}`, `two-${node}`])
        await waitFor(
          `${name} runs`,
          () => lab.kubernetes.readPath<KubernetesObject>(`${pods}/${name}`),
          ({ status }) => status.phase === "Running",
        );
    },
  );

  test("the node leaves no process, mount, link, control group or file", () => lab.close()); // fails if something is left
});
