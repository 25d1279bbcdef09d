import { describeReal } from "../../../tests/e2e/support/real-node";
import { emulated, type Found, machine, openStand, type Stand, until } from "./stand";

// NVIDIA's DRA driver on a real node next to an emulated node, in one stack. Its smoke tests claim a card on each
// node.

const pods = "/api/v1/namespaces/default/pods";
const claims = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";
const image = "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04";

describeReal("a real node whose cards are claimed", () => {
  let stand: Stand;
  beforeAll(async () => {
    stand = await openStand("node-claims");
  });

  test("the emulated driver publishes the same facts of a card as the real one", async () => {
    const { items } = await stand.kubernetes.readPath("/apis/resource.k8s.io/v1/resourceslices");
    const [real, other] = [machine, emulated].map((node) => {
      const [slice, ...more] = (items as Found[]).filter(({ spec }) => spec.nodeName === node);
      expect(more).toEqual([]);
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
    expect(other).toEqual(real);
    expect(real!.attributes).toMatchObject({
      brand: { string: "GeForce" },
      architecture: { string: "Ampere" },
    });
  });

  // From Kubernetes 1.36 on, the driver's DeviceClass serves requests for the resource (kubernetes v1.36.3
  // pkg/features, DRAExtendedResource).
  test.each([machine, emulated])(
    "a plain request of nvidia.com/gpu gets a card: %s",
    async (node) => {
      const resources = { limits: { "nvidia.com/gpu": "1" } };
      const containers = [{ name: "main", image, command: ["nvidia-smi", "-L"], resources }];
      const nodeSelector = { "kubernetes.io/hostname": node };
      const spec = { nodeSelector, restartPolicy: "Never", containers };
      await stand.kubernetes.create(pods, { metadata: { name: `plain-${node}` }, spec });
      const read = (): Promise<Found> => stand.kubernetes.readPath(`${pods}/plain-${node}`);
      await until("the pod's end", read, ({ status }) => status.phase === "Succeeded");
    },
  );

  // The effect of the same `claim.resourceClaimName` in two workloads.
  test.each([machine, emulated])("pods with the same claim share its card: %s", async (node) => {
    const requests = [{ name: "gpu", exactly: { deviceClassName: "gpu.nvidia.com" } }];
    await stand.kubernetes.create(claims, {
      metadata: { name: `shared-${node}` },
      spec: { devices: { requests } },
    });
    const container = {
      name: "main",
      image: "nvcr.io/nvidia/cuda:12.5.0-base-ubuntu22.04",
      command: ["sleep", "300"],
    };
    for (const name of [`one-${node}`, `two-${node}`])
      await stand.kubernetes.create(pods, {
        metadata: { name },
        spec: {
          nodeSelector: { "kubernetes.io/hostname": node },
          containers: [{ ...container, resources: { claims: [{ name: "gpus" }] } }],
          resourceClaims: [{ name: "gpus", resourceClaimName: `shared-${node}` }],
        },
      });
    const read = (): Promise<Found> => stand.kubernetes.readPath(`${claims}/shared-${node}`);
    await until("both have it", read, ({ status }) => status?.reservedFor?.length === 2);
    for (const name of [`one-${node}`, `two-${node}`])
      await until(
        `${name} runs`,
        () => stand.kubernetes.readPath<Found>(`${pods}/${name}`),
        ({ status }) => status.phase === "Running",
      );
  });

  test("the node leaves nothing", () => stand.close());
});
