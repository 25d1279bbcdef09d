import { provideTools } from "../../tools";
import { runDoctor } from "../../../tests/e2e/support/doctor";
import { describeOnRealNode } from "../../../tests/e2e/support/real-node";
import {
  emulatedNode,
  type KubernetesObject,
  realNode,
  startRealNodeLab,
  type RealNodeLab,
  waitFor,
} from "./real-node-lab";

// A real kubelet, containerd and device plugin on this computer, next to an emulated node, in one stack.

describeOnRealNode("a real node", () => {
  let lab: RealNodeLab;
  let talosctl: string;
  beforeAll(async () => {
    ({ talosctl } = await provideTools({ only: ["talosctl"] }));
    lab = await startRealNodeLab();
  });

  test("the doctor finds nothing on the healthy node", async () => {
    const { status, report } = await runDoctor(talosctl, lab.accessOptions);
    expect(report).toMatchObject({ differences: [], findings: [], unseen: [], notes: [] });
    expect(status).toBe(0);
  });

  test("real GPU feature discovery sets each label of the emulated one, with the same value", async () => {
    const labelsOf = async (): Promise<Record<string, string>[]> => {
      const nodes = await Promise.all(
        [realNode, emulatedNode].map((name) => lab.kubernetes.readPath(`/api/v1/nodes/${name}`)),
      );
      return nodes.map(({ metadata }) => metadata.labels as Record<string, string>);
    };
    const pciLabel = "feature.node.kubernetes.io/pci-10de.present";
    const hasAllLabels = (labels: Record<string, string>): boolean =>
      pciLabel in labels && "nvidia.com/gpu.product" in labels;
    const [realLabels, emulatedLabels] = await waitFor("the labels", labelsOf, (labels) =>
      labels.every(hasAllLabels),
    );
    const emulatedNvidiaLabels = Object.entries(emulatedLabels!).filter(([name]) =>
      /^nvidia\.com\//.test(name),
    );
    expect(realLabels).toMatchObject(Object.fromEntries(emulatedNvidiaLabels));
    expect(emulatedLabels!["nvidia.com/gpu.product"]).toBe("NVIDIA-GeForce-RTX-3090-SHARED");
  });

  const pods = "/api/v1/namespaces/default/pods";
  const classes = "/apis/node.k8s.io/v1/runtimeclasses";

  /** Runs a pod on a node, and gives the message of its event, without identifiers, which differ in each run. */
  const eventMessageOn = async (
    node: string,
    name: string,
    spec: KubernetesObject,
    reason: string,
  ): Promise<string> => {
    const pod = `${name}-on-${node}`;
    const { runtimeClassName, resources } = spec;
    const containers = [
      { name: "main", image: "busybox:1.37", command: ["sleep", "600"], resources },
    ];
    const placement = {
      nodeSelector: { "kubernetes.io/hostname": node },
      terminationGracePeriodSeconds: 0,
    };
    await lab.kubernetes.create(pods, {
      metadata: { name: pod },
      spec: { ...placement, runtimeClassName, containers },
    });
    const selector = encodeURIComponent(`involvedObject.name=${pod},reason=${reason}`);
    const readEvents = (): Promise<KubernetesObject> =>
      lab.kubernetes.readPath(`/api/v1/namespaces/default/events?fieldSelector=${selector}`);
    const { items } = await waitFor(
      `${pod}: ${reason}`,
      readEvents,
      (events) => events.items.length > 0,
    );
    await lab.kubernetes.remove(`${pods}/${pod}`);
    return items[0].message.replace(/"[0-9a-f-]{32,}"/, '"…"') as string;
  };

  test.each([
    ["no-such-handler", { runtimeClassName: "no-such-handler" }, "FailedCreatePodSandBox"],
    [
      "two-units-of-a-shared-card",
      { runtimeClassName: "nvidia", resources: { limits: { "nvidia.com/gpu": "2" } } },
      "UnexpectedAdmissionError",
    ],
  ])("the emulated node's event has the real one's message: %s", async (name, spec, reason) => {
    await lab.kubernetes.create(classes, { metadata: { name }, handler: "nope" });
    const [realMessage, emulatedMessage] = await Promise.all(
      [realNode, emulatedNode].map((node) => eventMessageOn(node, name, spec, reason)),
    );
    await lab.kubernetes.remove(`${classes}/${name}`);
    expect(emulatedMessage).toBe(realMessage);
  });

  test("the node reaps orphaned processes when they end", async () => {
    const script =
      'sh -c "sleep 0.1 & exit 0"; sleep 0.5; grep -l "^State:.*zombie" /proc/[0-9]*/status || true';
    expect(await lab.onNode(script)).toBe("");
  });

  test("the node leaves no process, mount, link, control group or file", async () => {
    await lab.close(); // fails if something is left
  });
});
