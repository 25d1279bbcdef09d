import { planCluster, type ClusterSpec } from "../../components/recipe";
import { validStack } from "./stacks";

test("machines in upgrade order, each with those it waits for", () => {
  const plan = planCluster(validStack("modern"));
  expect(plan.machines.map(({ name }) => name)).toEqual(["cp-1", "cp-2", "cp-3", "gpu-1", "gpu-2"]);
  expect(plan.after).toEqual({ "cp-1": [], "cp-2": ["cp-1"], "cp-3": ["cp-2"], "gpu-1": ["cp-3"], "gpu-2": ["cp-3"] });
});

test("the same stack gives the same plan, whatever the order of its machines", () => {
  const spec = validStack("modern");
  const reversed = { ...spec, machines: Object.fromEntries(Object.entries(spec.machines).reverse()) };
  const { spec: _, ...plan } = planCluster(spec);
  const { spec: __, ...other } = planCluster(reversed);
  expect(JSON.stringify(other)).toBe(JSON.stringify(plan));
});

test("a volume in another workload's namespace is noted, and one in its own is not", () => {
  const vllm = { model: "Qwen/Qwen3-0.6B" };
  const notes = (workloads: ClusterSpec["workloads"]): string[] =>
    planCluster({ ...validStack("rtx5070ti"), workloads: workloads! }).notes;
  expect(notes({ ollama: { namespace: "ai" }, vllm: { ...vllm, namespace: "ai" } })).toEqual([
    expect.stringMatching(/^workloads\.vllm: its volume is in namespace ai, which workloads\.ollama makes; .* own$/),
  ]);
  expect(notes({ ollama: { namespace: "ai" }, vllm })).toEqual([]);
});

test("what was assumed is noted", () => {
  expect(planCluster({ ...validStack("rtx5070ti"), talosVersion: "v1.12.40" }).notes).toEqual([
    expect.stringContaining("v1.12.40 is newer than the tables"),
  ]);
  expect(planCluster(validStack("modern")).notes).toEqual([
    expect.stringContaining("gpu-1: from Talos ≤ 1.12 to ≥ 1.13"),
    expect.stringContaining("machines.gpu-1.powerLimit: whether the RTX 4090 takes 400 W is not known here"),
  ]);
  const newer = { ...(validStack("modern") as any), talosVersion: "v1.13.10" };
  const told = { talosVersion: "v1.13.10", lts: "580.190.10", production: "595.99.10", toolkit: "1.19.2" };
  const gpuMachine = (stack: any) => planCluster(stack).machines.find(({ gpuCount }) => gpuCount > 0);
  expect(gpuMachine(newer)).toMatchObject({ driverVersion: "595.91.07", driverBranch: "595" });
  expect(gpuMachine({ ...newer, releaseFacts: told })).toMatchObject({ driverVersion: "595.99.10" });
  expect(gpuMachine({ ...newer, releaseFacts: told })).not.toHaveProperty("driverBranch");
  const pool = { ...newer.machines["gpu-1"], talosVersion: "v1.13.11" };
  const ahead = { ...newer, machines: { ...newer.machines, "gpu-1": pool }, releaseFacts: told };
  const toldOfPool = { ...told, talosVersion: "v1.13.11", production: "595.99.11" };
  expect(gpuMachine(ahead)).toMatchObject({ driverVersion: "595.91.07", driverBranch: "595" });
  expect(gpuMachine({ ...ahead, otherReleaseFacts: [toldOfPool] })).toMatchObject({ driverVersion: "595.99.11" });
  const withCard = (gpu: object, powerLimit?: number): string[] => {
    const stack: any = structuredClone(validStack("rtx5070ti"));
    const name = Object.keys(stack.machines)[0]!;
    stack.machines[name] = { ...stack.machines[name], gpus: [gpu], ...(powerLimit ? { powerLimit } : {}) };
    return planCluster(stack).notes;
  };
  expect(withCard({ model: "RTX 6090", architecture: "Blackwell", memory: "48Gi" })).toEqual([
    expect.stringContaining('"RTX 6090" is in no table of cards, and is taken as the stack describes it (Blackwell)'),
  ]);
  expect(withCard({ model: "H200" }, 300)).toEqual([]); // a known range is judged, and needs no note
  expect(withCard({ model: "RTX 3090" }, 300)).toEqual([]); // others run it with that
  expect(withCard({ model: "RTX 3090" }, 380)).toEqual([expect.stringContaining("whether the RTX 3090 takes 380 W")]);
  expect(withCard({ model: "A10G" }, 150)).toEqual([expect.stringContaining("whether the A10G takes 150 W")]);
  expect(planCluster(validStack("rtx5070ti")).notes).toEqual([]);
  const begun = (talosVersion: string) =>
    planCluster({ ...validStack("rtx5070ti"), talosVersion, bootstrap: true }).notes;
  expect(begun("v1.12.4")).toEqual([expect.stringContaining("k8s-worker4: start from a boot medium of Talos 1.13")]);
  expect(begun("v1.13.4").join()).not.toContain("boot medium");
  expect(planCluster(validStack("cdi-off-on-1.13")).notes).toEqual([
    expect.stringMatching(/^gpuOperator\.values\.cdi\.enabled is false: .* needs `runtimeClassName: nvidia`/),
  ]);
  const mig = validStack("mig");
  const ampere = {
    ...mig,
    machines: { "dc-1": { ...mig.machines["dc-1"]!, gpus: [{ model: "A30" }] } },
    sharing: { mig: { strategy: "single", profile: "1g.6gb" } } as const,
  };
  expect(planCluster(mig).notes).toEqual([expect.stringContaining("MIG: not tried on hardware")]);
  expect(planCluster(ampere).notes).toEqual([
    expect.stringContaining("MIG: not tried on hardware"),
    expect.stringContaining("dc-1: an Ampere card changes its MIG mode by a reset"),
  ]);
});

test.each([
  ["H100 80GB HBM3", 4, true],
  ["H100 80GB HBM3", 8, false],
  ["RTX 3090", 1, false],
])("a fabric manager beside %s ×%i is noted: %s", (model, count, noted) => {
  const stack: any = structuredClone(validStack("aarhus-h100"));
  const [machine]: any[] = Object.values(stack.machines);
  Object.assign(machine, { gpus: [{ model, count }], extensions: ["siderolabs/nvidia-fabricmanager-production"] });
  expect(planCluster(stack).notes.some((note) => note.includes("whether an NVSwitch"))).toBe(noted);
});

test("a configuration of the plugin that nobody knows is named where it stands", () => {
  const config = { config: { name: "mine" } };
  const { devicePlugin, ...rest } = validStack("aarhus-h100");
  const told = (more: object): string[] =>
    planCluster({ ...rest, ...more }).notes.filter((note) => note.includes("how many units"));
  expect(told({ devicePlugin: { ...devicePlugin!, values: config } })).toEqual([
    expect.stringMatching(/^devicePlugin\.values\.config: /),
  ]);
  expect(told({ external: { kind: "devicePlugin", version: "0.19.3", values: config } })).toEqual([
    expect.stringMatching(/^external\.values: /),
  ]);
});

test("MIG on one machine beside whole cards on another", () => {
  const { machines, notes } = planCluster(validStack("mig-beside-whole"));
  expect(machines.map(({ name, allocatable }) => [name, allocatable])).toEqual([
    ["dc-1", { "nvidia.com/mig-1g.18gb": 14 }],
    ["home-1", { "nvidia.com/gpu": 1 }],
  ]);
  expect(machines[0]?.nodeLabels).toHaveProperty(["nvidia.com/mig.config"], "all-1g.18gb");
  expect(machines[1]?.nodeLabels).not.toHaveProperty(["nvidia.com/mig.config"]);
  expect(notes).toContainEqual(expect.stringContaining("home-1: no card with MIG"));
  expect(planCluster(validStack("mig-disabled")).machines[0]?.allocatable).toEqual({ "nvidia.com/gpu": 2 });
});

test("a chart comes from where the stack says, and pods may have several slices", () => {
  const plan = planCluster(validStack("mirrored"));
  const { release } = plan.kubernetes;
  expect(release).toMatchObject({
    chart: "nvidia-device-plugin",
    repository: "oci://ghcr.io/home-operations/charts-mirror",
  });
  expect(plan.kubernetes.sharingConfig).toContain("failRequestsGreaterThanOne: false");
  expect(plan.machines.map(({ name, driverVersion }) => [name, driverVersion])).toEqual([
    ["large", "595.112.07"],
    ["small", "580.196.07"],
  ]);
  const other = planCluster(validStack("own-discovery"));
  expect(other.kubernetes.release.repository).toBe("https://charts.example.org/nvidia");
  expect(other.notes.filter((note) => /any of its cards|own Node Feature Discovery/.test(note))).toHaveLength(2);
});

test.each([
  { kernelArgs: ["vfio-pci.ids=10de:1aef,10DE:2204"] },
  { patches: ["machine: { kernel: { modules: [{ name: vfio_pci, parameters: ['ids=10de:2204,10de:1aef'] }] } }"] },
])("a card that virtual machines get as well is noted: %j", (given) => {
  const spec = validStack("three-generations");
  const plan = (model: string): string[] => {
    const blackwell = { ...spec.machines.blackwell!, gpus: [{ model }], ...given };
    const { notes } = planCluster({ ...spec, machines: { ...spec.machines, blackwell } });
    return notes.filter((note) => note.includes("PCIDriverRebindConfig"));
  };
  expect(plan("RTX 3090")).toEqual([expect.stringMatching(/gpus.*: virtual machines get every RTX 3090 of blackwell/)]);
  expect(plan("RTX 4090")).toEqual([]);
});
