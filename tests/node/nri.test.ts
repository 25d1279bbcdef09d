import * as fs from "node:fs";
import * as path from "node:path";
import { describeReal } from "../e2e/support/real-node";
import { type Found, openStand, type Stand, until } from "./stand";

const operator = "gpu-operator";
const one = { limits: { "nvidia.com/gpu": "1" } };
const annotations = { "nvidia.cdi.k8s.io/container.main": "management.nvidia.com/gpu=all" };

/** What a container of an image that says NVIDIA_VISIBLE_DEVICES=all has, by nvidia-smi and by its devices; or why it did not start. */
async function seen(
  { kubernetes }: Stand,
  name: string,
  said: { annotations?: Found; limits?: Found } = {},
  namespace = "default",
): Promise<string> {
  const script = "(nvidia-smi -L 2>/dev/null; ls /dev | grep -E '^nvidia[0-9]' || true) > /dev/termination-log";
  const container = { name: "main", image: "nvcr.io/nvidia/cuda:12.5.0-base", command: ["sh", "-c", script] };
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  await kubernetes.create(pods, {
    metadata: { name, annotations: said.annotations },
    spec: { restartPolicy: "Never", containers: [{ ...container, resources: { limits: said.limits } }] },
  });
  const ended = ({ status }: Found): Found => status?.containerStatuses?.[0]?.state?.terminated;
  const { spec, ...pod } = await until(
    name,
    () => kubernetes.at(`${pods}/${name}`),
    (pod) => ended(pod) !== undefined,
  );
  expect(spec.runtimeClassName).toBeUndefined();
  return (ended(pod)["message"] ?? "") as string;
}

/** So many cards, and their devices. */
const cards = (count: number): unknown =>
  expect.stringMatching(new RegExp(`^(GPU \\d.*\\n){${count}}(nvidia\\d\\n){${count}}$`));

// NVIDIA's own toolkit 1.20.1, installed as the operator of Talos 1.15 does, its NRI plugin, the real device plugin, and real containerd.
describeReal("a real node of Talos 1.15", () => {
  let stand: Stand;
  beforeAll(async () => {
    stand = await openStand("node-1.15");
  }, 40 * 60_000);
  afterAll(() => stand?.close(), 120_000);

  test("containerd has no runtime of NVIDIA's, the machine no program of the toolkit but those that the operator installed", async () => {
    const { items } = await stand.kubernetes.at("/api/v1/nodes");
    expect(items[0].status.runtimeHandlers.map(({ name }: Found) => name)).not.toContain("nvidia");
    const programs =
      "ls /usr/bin /usr/local/bin | grep nvidia- | sort -u; /var/lib/nvidia/toolkit/nvidia-cdi-hook --version";
    expect(await stand.onNode(programs)).toMatch(/^nvidia-smi\n.* 1\.20\.1/);
  });

  test("a pod that requests a card has that one", async () => {
    expect(await seen(stand, "requests", one)).toEqual(cards(1));
  }, 120_000);

  test("a pod that requests none sees none, whatever its image says", async () => {
    expect(await seen(stand, "requests-none")).toBe("");
  }, 120_000);

  test("a pod that asks for all has all in the operator's namespace, and in another none, of which the toolkit alone tells", async () => {
    expect(await seen(stand, "all", { annotations }, operator)).toEqual(cards(2));
    expect(await seen(stand, "all-elsewhere", { annotations })).toBe("");
    const log = await stand.onNode(
      `cat /var/log/pods/${operator}_nvidia-container-toolkit-daemonset-*/nvidia-container-toolkit-ctr/*.log`,
    );
    expect(log).toContain(
      "pod default/all-elsewhere is requesting one or more management CDI devices, but it is not in one of the allowed namespaces",
    );
  }, 120_000);
});

describeReal("a real node of Talos 1.15 with the device plugin alone", () => {
  let stand: Stand;
  beforeAll(async () => {
    stand = await openStand("node-1.15-plugin");
  }, 40 * 60_000);
  afterAll(() => stand?.close(), 120_000);

  test("a pod with a card starts once the hook is there that the plugin's CDI specification calls, and only then", async () => {
    const hook = "/var/lib/nvidia/nvidia-cdi-hook";
    expect(await seen(stand, "unhooked", one)).toContain(`${hook}: no such file or directory`);
    const { machines } = JSON.parse(fs.readFileSync(path.join(stand.folder, "machines/spec.json"), "utf8"));
    const toolkit = (machines[0].node.programs as string[]).find((folder) => folder.endsWith("nvidia-toolkit-v1.20"));
    await stand.onNode(`mkdir -p /var/lib/nvidia; cp ${toolkit}/nvidia-cdi-hook ${hook}`);
    expect(await seen(stand, "hooked", one)).toEqual(cards(1));
  }, 240_000);
});
