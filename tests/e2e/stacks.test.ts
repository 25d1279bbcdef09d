import * as path from "node:path";
import { assertOk, expectReady, nothingLeft, runLab } from "./support/labs";
import { nodeHere } from "./support/real-node";

const node = nodeHere();

interface Expected {
  machines: Record<string, { talosVersion: string; driverVersion: string | null; gpus?: string; taints?: string[] }>;
  workloads: string[];
  /** An edit of its workloads afterwards, which no machine notices: a file of `stacks/`, and what then runs. */
  then?: { stack: string; workloads: string[] };
  /** Where the plan of what `talos-gpu discover` writes of the cluster is another one: what cannot be seen in a cluster. */
  unseen?: string[];
  /** What the lab says, in this order, beside all else. */
  says?: RegExp[];
}

/** What each stack must come to, as its owner describes it. */
const expected: Record<string, Expected> = {
  rtx5070ti: {
    machines: { "k8s-worker4": { talosVersion: "v1.12.6", driverVersion: "570.211.01", gpus: "1" } },
    workloads: ["comfyui/comfyui", "ollama/ollama"],
    // ComfyUI gets the card when ollama gives it up.
    then: { stack: "rtx5070ti-paints", workloads: ["comfyui/comfyui", "ollama/ollama"] },
    unseen: ["machines.k8s-worker4.configuration", "machines.k8s-worker4.patches"], // whether a stack owns it
  },
  "aarhus-h100": {
    machines: { "aarhus-h100": { talosVersion: "v1.11.5", driverVersion: "570.172.08", gpus: "2" } },
    workloads: ["gpu-pods/nvidia-test", "vllm/vllm"],
    // vLLM splits a model over both cards once the test pod is out.
    then: { stack: "aarhus-h100-serves", workloads: ["vllm/vllm"] },
  },
  // Two cards, four slices of each; four pods on them.
  rtx3090: {
    machines: { rtx3090: { talosVersion: "v1.10.9", driverVersion: "570.148.08", gpus: "8" } },
    workloads: ["gpu-pods/gpu-test-1", "gpu-pods/gpu-test-2", "gpu-pods/gpu-test-3", "gpu-pods/gpu-test-4"],
    // Sharing is in the release's values, the power limit in a DaemonSet of the stack's own, which a label of ours leads to its nodes.
    unseen: [
      "kubernetes.release",
      "kubernetes.sharingConfig",
      "machines.rtx3090.allocatable",
      "machines.rtx3090.nodeLabels",
      "machines.rtx3090.powerLimit",
    ],
  },
  velaryon: {
    machines: {
      velaryon: { talosVersion: "v1.11.1", driverVersion: "535.247.01", gpus: "1", taints: ["gpu=true:NoSchedule"] },
    },
    workloads: ["nvidia/nvidia-test"],
  },
  // Its machines begin in maintenance mode: the one reboot is that of the installation.
  modern: {
    machines: {
      control: {
        talosVersion: "v1.13.0",
        driverVersion: null,
        taints: ["node-role.kubernetes.io/control-plane:NoSchedule"],
      },
      gpu: { talosVersion: "v1.13.0", driverVersion: "595.58.03", gpus: "1" },
    },
    workloads: ["ollama/ollama"],
    unseen: ["control", "gpu"].flatMap((name) => [`machines.${name}.configuration`, `machines.${name}.patches`]),
  },
  // Its machine waits for Omni's owner, who adds it to the cluster when its patches and extensions are there.
  frank: {
    machines: { "gpu-1": { talosVersion: "v1.12.6", driverVersion: "570.211.01", gpus: "1" } },
    workloads: ["litellm/litellm", "ollama/ollama"],
    unseen: ["machines.gpu-1.uuid"], // the lab's hardware has an ID of its own
    says: [
      /^✔ Talos machines: .*gpu-1 in maintenance mode, connected to Omni, in no cluster/,
      /add the machine (\S+) to the cluster frank in Omni/,
      /the lab, as the owner of frank, adds the machine/,
    ],
  },
};

// Some at a time (`maxConcurrency`): most of each is waiting.
test.concurrent.each(Object.entries(expected))(
  `%s comes up as previewed, its GPU node ${node}: one reboot per machine, GPUs allocatable, workloads ready; a second update changes nothing and calls no machine; the doctor finds nothing; the destroy leaves nothing`,
  async (stack, { machines, workloads, then, unseen = [], says = [] }) => {
    const edit = then === undefined ? [] : ["--then", path.join(__dirname, `stacks/Pulumi.${then.stack}.yaml`)];
    const { status, report, lines, folder } = await runLab([
      ...["--node", node, "--stack", stack, "--preview", "--updates", "2", "--discover"],
      ...edit,
    ]);
    assertOk({ status, report, lines });
    // A warning of Node's is about the lab's own doing: its user can only wonder.
    expect(lines.filter((line) => /\(node:\d+\) /.test(line))).toEqual([]);
    expect(report.failures).toEqual([]);
    expect(report.stack).toBe(stack);
    expect(report.updates.every(({ result }) => result === "succeeded")).toBe(true);
    const [first, second, edited, again] = report.updates;
    const unchanged = { update: 0, replace: 0, delete: 0 };
    // A preview tells all that the update then does, and calls no machine.
    expect(report.previews).toMatchObject(
      [first!, ...(edited === undefined ? [] : [edited])].map(({ changes }) => ({
        ...{ result: "succeeded", changes, machineRequests: 0 },
      })),
    );
    expect(first!.changes).toMatchObject({ ...unchanged, same: 0 });
    expect(second!.changes).toEqual({ ...unchanged, create: 0, same: first!.changes.create });
    expect(second!.machineRequests).toBe(0);
    if (then !== undefined) {
      expect(edited!.machineRequests).toBe(0);
      expect(again).toMatchObject({ machineRequests: 0, changes: { ...unchanged, create: 0 } });
      expectReady(report.beforeEdits[0]!, workloads);
    }
    for (const [name, { talosVersion, driverVersion, gpus, taints = [] }] of Object.entries(machines)) {
      expect(report.machines[name]).toMatchObject({
        talosVersion,
        driverVersion,
        reboots: 1,
        taints,
        allocatable: gpus === undefined ? {} : { "nvidia.com/gpu": gpus },
      });
      expect(report.machines[name]!.schematicId).toMatch(/^[0-9a-f]{64}$/);
    }
    expectReady(report, then?.workloads ?? workloads);
    expect(report.discovered).toMatchObject({ unlike: unseen, unseen: [] });
    expect(report.left).toEqual([]);
    let at = -1;
    for (const pattern of says) {
      const next = lines.findIndex((line, index) => index > at && pattern.test(line));
      expect([pattern, next > at]).toEqual([pattern, true]);
      at = next;
    }
    await nothingLeft(folder);
  },
  10 * 60_000,
);
