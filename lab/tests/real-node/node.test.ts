import { provideTools } from "../../tools";
import { ask } from "../../../tests/e2e/support/doctor";
import { describeReal } from "../../../tests/e2e/support/real-node";
import { emulated, type Found, machine, openStand, type Stand, until } from "./stand";

// A real kubelet, containerd and device plugin on this computer, next to an emulated node, in one stack.

describeReal("a real node", () => {
  let stand: Stand;
  let talosctl: string;
  beforeAll(async () => {
    ({ talosctl } = await provideTools({ only: ["talosctl"] }));
    stand = await openStand();
  });

  test("the doctor finds nothing on the healthy node", async () => {
    const { status, report } = await ask(talosctl, stand.access);
    expect(report).toMatchObject({ differences: [], findings: [], unseen: [], notes: [] });
    expect(status).toBe(0);
  });

  test("emulated and real GPU feature discovery set the same labels, with either master of Node Feature Discovery", async () => {
    const labelsOf = async (): Promise<Record<string, string>[]> => {
      const nodes = await Promise.all(
        [machine, emulated].map((name) => stand.kubernetes.readPath(`/api/v1/nodes/${name}`)),
      );
      return nodes.map(({ metadata }) => metadata.labels as Record<string, string>);
    };
    const onBus = "feature.node.kubernetes.io/pci-10de.present";
    const all = (labels: Record<string, string>): boolean =>
      onBus in labels && "nvidia.com/gpu.product" in labels;
    const [real, other] = await until("the labels", labelsOf, (found) => found.every(all));
    const ofNvidia = Object.entries(other!).filter(([name]) => /^nvidia\.com\//.test(name));
    expect(real).toMatchObject(Object.fromEntries(ofNvidia));
    expect(other!["nvidia.com/gpu.product"]).toBe("NVIDIA-GeForce-RTX-3090-SHARED");
  });

  const pods = "/api/v1/namespaces/default/pods";
  const classes = "/apis/node.k8s.io/v1/runtimeclasses";

  /** Runs a pod on a node, and gives the message of its event, without identifiers, which differ in each run. */
  const wordsOn = async (
    node: string,
    name: string,
    spec: Found,
    reason: string,
  ): Promise<string> => {
    const pod = `${name}-on-${node}`;
    const { runtimeClassName, resources } = spec;
    const containers = [
      { name: "main", image: "busybox:1.37", command: ["sleep", "600"], resources },
    ];
    const onto = {
      nodeSelector: { "kubernetes.io/hostname": node },
      terminationGracePeriodSeconds: 0,
    };
    await stand.kubernetes.create(pods, {
      metadata: { name: pod },
      spec: { ...onto, runtimeClassName, containers },
    });
    const selector = encodeURIComponent(`involvedObject.name=${pod},reason=${reason}`);
    const events = (): Promise<Found> =>
      stand.kubernetes.readPath(`/api/v1/namespaces/default/events?fieldSelector=${selector}`);
    const { items } = await until(`${pod}: ${reason}`, events, (found) => found.items.length > 0);
    await stand.kubernetes.remove(`${pods}/${pod}`);
    return items[0].message.replace(/"[0-9a-f-]{32,}"/, '"…"') as string;
  };

  test.each([
    ["no-such-handler", { runtimeClassName: "no-such-handler" }, "FailedCreatePodSandBox"],
    [
      "two-units-of-a-shared-card",
      { runtimeClassName: "nvidia", resources: { limits: { "nvidia.com/gpu": "2" } } },
      "UnexpectedAdmissionError",
    ],
  ])("the emulated node has the real one's words: %s", async (name, spec, reason) => {
    await stand.kubernetes.create(classes, { metadata: { name }, handler: "nope" });
    const [real, other] = await Promise.all(
      [machine, emulated].map((node) => wordsOn(node, name, spec, reason)),
    );
    await stand.kubernetes.remove(`${classes}/${name}`);
    expect(other).toBe(real);
  });

  test("the node reaps orphaned processes when they end", async () => {
    const script =
      'sh -c "sleep 0.1 & exit 0"; sleep 0.5; grep -l "^State:.*zombie" /proc/[0-9]*/status || true';
    expect(await stand.onNode(script)).toBe("");
  });

  test("the node leaves no process, mount, link, control group or file", async () => {
    await stand.close();
  });
});
