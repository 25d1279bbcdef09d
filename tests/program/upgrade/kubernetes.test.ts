import type { UpgradePhase } from "../../../components/recipe/effect";
import { nodeState, schematics } from "../fakes";
import { runAfterKill } from "../run-after-kill";
import { setupUpgrade } from "../setup";
import { runUpgrade, type UpgradeRun } from "./scenario";

// A new Kubernetes release on an owned machine.

const imageName = (component: string, release: string): string =>
  component === "kubelet"
    ? `ghcr.io/siderolabs/kubelet:${release}`
    : `registry.k8s.io/${component}:${release}`;

const controlPlane = (release: string): string => `machine:
  type: controlplane
  kubelet: {image: "${imageName("kubelet", release)}"}
cluster:
  apiServer: {image: "${imageName("kube-apiserver", release)}"}
  controllerManager: {image: "${imageName("kube-controller-manager", release)}"}
  scheduler: {image: "${imageName("kube-scheduler", release)}"}
`;

const worker = (release: string): string => `machine:
  type: worker
  kubelet: {image: "${imageName("kubelet", release)}"}
`;

const [OLD, NEW] = ["v1.35.2", "v1.36.0"];

const task = {
  configuration: "owned",
  role: "controlplane",
  modules: [],
  driverVersion: undefined,
  extensionServices: [],
  schematicId: schematics.plain,
} satisfies UpgradeRun["task"];

const machine = {
  talosVersion: "v1.12.6",
  etcdState: "Running",
  active: controlPlane(OLD),
  persistent: controlPlane(NEW),
};

const imagePulls = [
  `pull ${imageName("kube-apiserver", NEW)} for pods`,
  `pull ${imageName("kube-controller-manager", NEW)} for pods`,
  `pull ${imageName("kube-scheduler", NEW)} for pods`,
  `pull ${imageName("kubelet", NEW)}`,
];

const workerRun: Pick<UpgradeRun, "task" | "machine"> = {
  task: { ...task, role: "worker", otherControlPlanes: ["10.0.0.9"] },
  machine: {
    talosVersion: "v1.12.6",
    active: worker(OLD),
    persistent: worker(NEW),
  },
};

/** Phases of a run that installs a new release without a reboot. */
const phasesWithImages: UpgradePhase[] = [
  "reach",
  "compare",
  "precheck",
  "images",
  "apply",
  "verify",
  "uncordon",
  "kubernetes",
  "health",
];

describe("a control plane with a new Kubernetes release", () => {
  test("pulls the images first, and the run ends when each component runs the release and is ready", () =>
    runUpgrade({
      task,
      machine,
      expect: {
        result: { rebooted: false },
        machineCalls: [...imagePulls, "activate"],
        kubernetesCalls: [],
        phases: phasesWithImages,
        phaseSeconds: { kubernetes: 15 },
        logsOnce: [
          "waiting up to 10m for kube-apiserver, kube-controller-manager, kube-scheduler and kubelet",
          `kubernetes: kube-apiserver runs ${OLD}, not yet ${NEW}, kube-controller-manager runs ${OLD}, not yet ${NEW}`,
          "kubernetes: ready in the configured release: kube-apiserver, kube-controller-manager, kube-scheduler and kubelet",
        ],
      },
    }));

  test.each(["kube-apiserver", "kube-controller-manager", "kube-scheduler"])(
    "whose %s does not become ready fails the run",
    (component) =>
      runUpgrade({
        task,
        machine: { ...machine, unreadyStaticPods: [component] },
        expect: {
          error: [
            `machines.gpu-1: Kubernetes on this machine does not agree with the machine's configuration: ${component} ${NEW} is not ready (after 10m)`,
            "talosctl -n 10.0.0.1 get staticpodstatuses",
          ],
          minutes: { atLeast: 9, lessThan: 12 },
        },
      }),
  );

  test("whose kubelet keeps the old release fails the run", () =>
    runUpgrade({
      task,
      machine,
      cluster: { state: nodeState({ kubelet: OLD }) },
      expect: { error: [`the kubelet runs ${OLD}, not yet ${NEW}`] },
    }));

  test("whose node does not become ready fails the run, with the kubelet's reason", () =>
    runUpgrade({
      task,
      machine,
      cluster: { state: nodeState({ ready: false, unready: "PLEG is not healthy" }) },
      expect: { error: ["node gpu-1 is not ready (PLEG is not healthy)"] },
    }));

  test("succeeds if it is not ready only because the network plugin is still missing", () =>
    runUpgrade({
      task,
      machine,
      cluster: {
        state: nodeState({
          ready: false,
          unready:
            "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not initialized",
        }),
      },
      expect: { result: { rebooted: false } },
    }));

  test("is waited for while the Kubernetes API does not answer after the change", () =>
    runUpgrade({
      task,
      machine,
      events: [
        { afterCall: "activate", cluster: { unreachable: true } },
        { afterCall: "activate", seconds: 90, cluster: { unreachable: false } },
      ],
      expect: { result: { rebooted: false }, minutes: { atLeast: 1, lessThan: 4 } },
    }));

  test("is checked without a kubeconfig by Talos' status of its static pods", () =>
    runUpgrade({
      task: { ...task, drain: false },
      machine,
      context: { cluster: undefined },
      expect: { result: { rebooted: false }, phaseSeconds: { kubernetes: 15 } },
    }));

  test("whose configuration disables the scheduler does not need a ready scheduler", () => {
    const schedulerDisabled = "  controlPlane: {scheduler: {disabled: true}}\ncluster:";
    const withoutScheduler = (release: string): string =>
      controlPlane(release).replace("cluster:", schedulerDisabled);
    return runUpgrade({
      task,
      machine: {
        ...machine,
        active: withoutScheduler(OLD),
        persistent: withoutScheduler(NEW),
        unreadyStaticPods: ["kube-scheduler"],
      },
      expect: {
        result: { rebooted: false },
        machineCalls: [...imagePulls.filter((call) => !call.includes("scheduler")), "activate"],
      },
    });
  });

  test("keeps its release if an image cannot be pulled", () =>
    runUpgrade({
      task,
      machine,
      failingCalls: [{ call: "pull", problem: "refused" }],
      expect: {
        error: [
          `machines.gpu-1: the machine could not pull ${imageName("kube-apiserver", NEW)}`,
          "the update stopped before it drained the node",
          "its registry",
        ],
        machine: { active: controlPlane(OLD) },
        kubernetesCalls: [],
      },
    }));

  test("pulls no image that it already has", () =>
    runUpgrade({
      task,
      machine: {
        ...machine,
        pulledImages: [imageName("kube-apiserver", NEW), imageName("kubelet", NEW)],
      },
      expect: { machineCalls: [imagePulls[1]!, imagePulls[2]!, "activate"] },
    }));

  test("whose Talos release cannot pull ahead pulls each image when its component starts", () =>
    runUpgrade({
      task,
      machine,
      failingCalls: [{ call: "pull", problem: "unimplemented", times: 4 }],
      expect: {
        result: { rebooted: false },
        logs: [`images: this Talos release pulls ${imageName("kubelet", NEW)} when kubelet starts`],
      },
    }));

  test("that also needs a reboot pulls the images before its drain", () =>
    runUpgrade({
      task,
      machine: { ...machine, talosVersion: "v1.12.4", unreadyStaticPods: ["kube-apiserver"] },
      events: [{ afterCall: "upgrade", seconds: 400, machine: { unreadyStaticPods: [] } }],
      expect: {
        result: { rebooted: true },
        phases: [
          "reach",
          "compare",
          "precheck",
          "images",
          "pull",
          "drain",
          "reboot",
          "verify",
          "uncordon",
          "kubernetes",
        ],
        machine: { active: controlPlane(NEW) },
      },
    }));

  test("that already runs the release skips all further phases", () =>
    runUpgrade({
      task,
      machine: { ...machine, active: controlPlane(NEW) },
      expect: { changesNothing: true, phases: ["reach", "compare"], logs: ["nothing to do"] },
    }));

  test("is waited for by the next run if the first was killed while it waited", () =>
    runUpgrade({
      task,
      machine: {
        ...machine,
        active: controlPlane(NEW),
        configurationOfStaticPods: controlPlane(OLD),
      },
      events: [{ atSecond: 100, machine: { configurationOfStaticPods: undefined } }],
      expect: {
        changesNothing: true,
        result: { rebooted: false },
        phases: ["reach", "compare", "verify", "uncordon", "kubernetes"],
        minutes: { atLeast: 1, lessThan: 3 },
      },
    }));
});

test("a control plane is updated with one activation in all, even if the run is killed at any line or changing call", async () => {
  const killAndRunAgain = async (killPoint: number | undefined): Promise<number> => {
    const setup = setupUpgrade(task);
    Object.assign(setup.machine, machine);
    const { result, pointCount } = await runAfterKill(setup, killPoint);
    expect(result).toMatchObject({ rebooted: false });
    expect(setup.machine).toMatchObject({
      active: controlPlane(NEW),
      configurationOfStaticPods: undefined,
    });
    expect(setup.machine.calls.filter((call) => call === "activate")).toHaveLength(1);
    expect([...new Set(setup.machine.calls)]).toHaveLength(5);
    return pointCount;
  };
  const pointCount = await killAndRunAgain(undefined);
  expect(pointCount).toBeGreaterThan(12);
  for (let killPoint = 0; killPoint < pointCount; killPoint++) await killAndRunAgain(killPoint);
});

describe("a worker with a new Kubernetes release", () => {
  test("pulls the kubelet's image first, and the run ends when its node has the new kubelet", () =>
    runUpgrade({
      ...workerRun,
      expect: {
        machineCalls: [imagePulls[3]!, "activate"],
        phases: phasesWithImages,
        logs: [`kubernetes: the kubelet runs ${OLD}, not yet ${NEW}`],
      },
    }));

  test("succeeds with a kubelet that is newer than the image's tag", () =>
    runUpgrade({
      ...workerRun,
      cluster: { state: nodeState({ kubelet: "v1.36.3" }) },
      expect: { result: { rebooted: false }, logsNever: ["kubernetes: "] },
    }));

  test.each<[string, UpgradeRun["task"]]>([
    ["in a stack without control planes", { otherControlPlanes: [] }],
    ["that another tool configures", { configuration: "adopted" }],
  ])("%s gets the release without a pull and without a wait", (_, taskFields) =>
    runUpgrade({
      task: { ...workerRun.task, ...taskFields },
      machine: workerRun.machine!,
      cluster: { state: nodeState({ kubelet: OLD }) },
      expect: {
        machineCalls: ["activate"],
        phases: ["reach", "compare", "precheck", "apply", "verify", "uncordon", "health"],
      },
    }),
  );
});

test("images of a control plane in documents of Talos 1.14 are also pulled first", () => {
  const documents = (release: string): string =>
    [
      "machine: {type: controlplane}",
      `kind: KubeletConfig\nimage: ${imageName("kubelet", release)}`,
      `kind: KubeAPIServerConfig\nimage: ${imageName("kube-apiserver", release)}`,
      `kind: KubeControllerManagerConfig\nimage: ${imageName("kube-controller-manager", release)}`,
      `kind: KubeSchedulerConfig\nenabled: false\nimage: ${imageName("kube-scheduler", release)}`,
    ].join("\n---\n");
  return runUpgrade({
    task: { ...task, talosVersion: "v1.14.1" },
    machine: {
      ...machine,
      talosVersion: "v1.14.1",
      active: documents(OLD),
      persistent: documents(NEW),
    },
    context: { clientVersion: "v1.14.1" },
    expect: {
      result: { rebooted: false },
      machineCalls: [...imagePulls.filter((call) => !call.includes("scheduler")), "activate"],
    },
  });
});
