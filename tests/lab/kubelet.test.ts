import { gpuStack } from "../../components/kubernetes";
import type { Machines } from "../../lab/machines";
import { find } from "../support/graph";
import { planOf } from "../support/plans";
import { record } from "../support/recorder";
import {
  closeStand,
  create,
  eventually,
  install,
  logOf,
  namespace,
  node,
  openStand,
  read,
  readNode,
  readPods,
  type Found,
} from "./kubelet-stand";

let machines: Machines;
beforeAll(async () => {
  machines = await openStand();
}, 1_800_000);
afterAll(closeStand);

const markers = {
  apiVersion: "apps/v1",
  kind: "DaemonSet",
  metadata: { name: "markers", namespace },
  spec: {
    selector: { matchLabels: { app: "markers" } },
    template: {
      metadata: { labels: { app: "markers" } },
      spec: {
        containers: [
          {
            name: "markers",
            image: "busybox:1.37",
            command: ["/bin/sh", "-c"],
            args: [
              `cd /run/nvidia && mkdir -p validations && test -r /proc/driver/nvidia/version &&
               echo IS_HOST_DRIVER=true > validations/driver-ready && touch validations/toolkit-ready && sleep infinity`,
            ],
            readinessProbe: { exec: { command: ["test", "-f", "/run/nvidia/validations/toolkit-ready"] } },
            volumeMounts: [{ name: "run", mountPath: "/run/nvidia" }],
          },
        ],
        volumes: [{ name: "run", hostPath: { path: "/run/nvidia", type: "DirectoryOrCreate" } }],
      },
    },
  },
};

const smokeTest = {
  apiVersion: "batch/v1",
  kind: "Job",
  metadata: { name: "smoke-test", namespace },
  spec: {
    template: {
      spec: {
        runtimeClassName: "nvidia",
        restartPolicy: "Never",
        containers: [
          {
            name: "test",
            image: "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5.0",
            resources: { limits: { "nvidia.com/gpu": "1" } },
          },
        ],
      },
    },
  },
};

test("the kubelet registers its node, with Talos' labels", async () => {
  const ready = (found: Found): boolean =>
    found.status.conditions.some((each: any) => each.type === "Ready" && each.status === "True");
  const found = await eventually("a ready node", readNode, (each) => ready(each) && !each.spec?.taints);
  expect(found.status.nodeInfo).toMatchObject({ osImage: "Talos (v1.12.6)", kubeletVersion: "v1.35.0" });
  expect(found.metadata?.labels).toMatchObject({
    "kubernetes.io/hostname": node,
    "extensions.talos.dev/nvidia-container-toolkit-production": "570.211.01-v1.18.2",
    "nvidia.com/gpu.deploy.operator-validator": "false",
  });
}, 60_000);

test("without markers the device plugin waits in Init:0/1, and the node offers no GPU", async () => {
  await install();
  const waiting = await eventually(
    "the plugin's init container to run",
    () => readPods("app=nvidia-device-plugin-daemonset"),
    ([pod]) => pod?.status.initContainerStatuses?.[0]?.state.running !== undefined,
  );
  expect(waiting[0]?.status.phase).toBe("Pending");
  expect((await readNode()).status.allocatable["nvidia.com/gpu"]).toBeUndefined();
}, 60_000);

test("with markers the GPU becomes allocatable, and the ClusterPolicy ready", async () => {
  await create(markers);
  await eventually("one allocatable GPU", readNode, (found) => found.status.allocatable["nvidia.com/gpu"] === "1");
  const policy = { apiVersion: "nvidia.com/v1", kind: "ClusterPolicy", metadata: { name: "cluster-policy" } };
  await eventually(
    "a ready ClusterPolicy",
    () => read(policy),
    (found) => found.status?.state === "ready",
  );
  const product = "nvidia.com/gpu.product";
  await eventually(
    "the card's labels",
    readNode,
    (found) => found.metadata?.labels?.[product] === "NVIDIA-GeForce-RTX-5070-Ti",
  );
}, 60_000);

test("a CUDA sample computes on the card", async () => {
  await create(smokeTest);
  await eventually(
    "the Job to complete",
    () => read(smokeTest),
    (found) => found.status?.succeeded === 1,
  );
  const [pod] = await readPods("job-name=smoke-test");
  expect(pod?.status.containerStatuses[0].state.terminated).toMatchObject({ exitCode: 0, reason: "Completed" });
  expect(await logOf(pod!)).toContain("Test PASSED");
}, 60_000);

/** A pod that says 100 lines and fails. */
const talkative = (policy: string, before = "") => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `talkative-${policy.toLowerCase()}`, namespace },
  spec: {
    restartPolicy: "Never",
    containers: [
      {
        name: "main",
        image: "busybox:1.37",
        command: ["/bin/sh", "-c", `${before} for i in $(seq 100); do echo "line $i"; done; exit 3`],
        terminationMessagePolicy: policy,
      },
    ],
  },
});

test("a container's last words are in its status as its policy says: the file's, or the end of the log", async () => {
  const words = async (pod: Found): Promise<string | undefined> => {
    await create(pod);
    const ended = await eventually(
      "the pod to fail",
      () => read(pod),
      ({ status }) => status?.phase === "Failed",
    );
    return ended.status.containerStatuses[0].state.terminated.message as string | undefined;
  };
  const [fromFile, fromLog] = await Promise.all([
    words(talkative("File", "echo fatal: no card > /dev/termination-log;")),
    words(talkative("FallbackToLogsOnError")),
  ]);
  expect(fromFile).toBe("fatal: no card\n");
  // The kubelet takes 80 lines and 2048 bytes at most.
  expect(fromLog!.trim().split("\n")).toHaveLength(80);
  expect(fromLog).toContain("line 21\n");
  expect(fromLog).toContain("line 100");
}, 60_000);

test("a power limit that drifts is set again at the next look, half an hour later, and persistence mode with it", async () => {
  const limited = { address: "10.9.0.21", role: "worker", configuration: "adopted", powerLimit: 280 };
  const machinesOf = { [node]: { ...limited, gpus: [{ model: "RTX 5070 Ti" }] } };
  const planned = planOf("rtx3090", { talosVersion: "v1.12.6", machines: machinesOf });
  const registered = await record(() => void gpuStack("lab", planned, { ahead: [] }, {}));
  const set = find(registered, "kubernetes:apps/v1:DaemonSet", "power-limit-280w").inputs;
  await create({ ...set, metadata: { ...set.metadata, namespace } } as Found);

  const podOf = async (): Promise<Found | undefined> =>
    (await readPods("app.kubernetes.io/name=nvidia-power-limit-280w"))[0];
  const ask = "--query-gpu=power.limit,persistence_mode";
  const card = (): Promise<string> => machines.nvidiaSmi(node, [ask, "--format=csv,noheader,nounits"]);
  const isReady = (pod: Found | undefined): boolean => pod?.status.containerStatuses?.[0]?.ready === true;
  const pod = (await eventually("the limit's pod to be ready", podOf, isReady))!;
  expect(await card()).toBe("280.00, Enabled\n");
  expect(await logOf(pod)).toContain("card 0: 300.00 W -> 280 W");

  // Somebody else on the machine, as an administrator may.
  await machines.nvidiaSmi(node, ["-i", "0", "-pl", "300"]);
  await machines.nvidiaSmi(node, ["-pm", "0"]);
  expect(await card()).toBe("300.00, Disabled\n");
  const drifted = performance.now();
  await eventually("the limit to be back", card, (now) => now === "280.00, Enabled\n");
  // 1800 lab seconds are 30 s; the first look was a little before the drift.
  expect(performance.now() - drifted).toBeGreaterThan(15_000);
  const said = await eventually(
    "the log to say so",
    () => logOf(pod),
    (log) => log.split("card 0: 300.00 W -> 280 W").length === 3,
  );
  expect(said).toContain("card 0: limit 280 W, draws 30.00 W, utilisation 0 %");
  expect((await podOf())?.status.containerStatuses[0].restartCount).toBe(0);
}, 120_000);
