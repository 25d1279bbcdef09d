import { CallError } from "../../../components/clients/failure";
import { defined } from "../../../components/recipe/mapping";
import {
  type FakeCluster,
  factoryImage,
  nodeState,
  pod,
  schematics,
  webhookService,
} from "../fakes";
import { STAGED } from "../setup";
import { type Event, plainUpgrade, runUpgrade, type UpgradeRun } from "./scenario";

// Runs of the upgrade program without a fault.

describe("a machine that differs from its stack", () => {
  test("is upgraded with one reboot, which also activates the staged configuration", () =>
    runUpgrade({
      cluster: {
        podList: [
          pod("app"),
          pod("daemon", { controller: "DaemonSet" }),
          pod("static", { mirror: true }),
          pod("job", { finished: true }),
        ],
      },
      expect: {
        result: {
          machine: "gpu-1",
          talosVersion: "v1.12.6",
          schematicId: schematics.gpu,
          driverVersion: "570.211.01",
          bootId: "boot-2",
          rebooted: true,
        },
        machineCalls: [`pull ${factoryImage("v1.12.6")}`, "upgrade legacy"],
        machine: {
          bootCount: 2,
          talosVersion: "v1.12.6",
          schematicId: schematics.gpu,
          active: STAGED,
        },
        kubernetesCalls: ["cordon", "evict app", "uncordon"],
        node: { unschedulable: false, annotations: {}, ready: true },
        phases: ["reach", "compare", "precheck", "pull", "drain", "reboot", "verify", "uncordon"],
        phaseSeconds: { reboot: 160 },
      },
    }));

  test("is upgraded if it differs only in its schematic", () =>
    runUpgrade({
      task: { talosVersion: "v1.12.4" },
      expect: {
        result: { talosVersion: "v1.12.4", schematicId: schematics.gpu, rebooted: true },
        machine: { bootCount: 2 },
      },
    }));

  const liveTask: UpgradeRun["task"] = {
    modules: [],
    driverVersion: undefined,
    extensionServices: [],
    schematicId: schematics.plain,
  };
  test("without NVIDIA modules gets a staged configuration live, without reboot and drain", () =>
    runUpgrade({
      task: liveTask,
      machine: { talosVersion: "v1.12.6" },
      expect: {
        result: { rebooted: false, bootId: "boot-1", driverVersion: null },
        machineCalls: ["activate"],
        machine: { active: STAGED },
        kubernetesCalls: [],
      },
    }));

  test("without NVIDIA modules is rebooted if Talos refuses to take the staged configuration live", () =>
    runUpgrade({
      task: liveTask,
      machine: { talosVersion: "v1.12.6", needsBoot: true },
      expect: {
        result: { rebooted: true, bootId: "boot-2" },
        machineCalls: ["activate", "reboot"],
      },
    }));

  test("without NVIDIA modules is not changed twice if only the answer to the live change was lost", () =>
    runUpgrade({
      task: liveTask,
      machine: { talosVersion: "v1.12.6" },
      failingCalls: [{ call: "activate", problem: "unreachable", takesEffect: true }],
      expect: { result: { rebooted: false }, machine: { active: STAGED } },
    }));

  test("is rebooted once, without an upgrade, if it differs only in its staged configuration", () =>
    runUpgrade({
      machine: { talosVersion: "v1.12.6", schematicId: schematics.gpu },
      expect: { result: { rebooted: true, bootId: "boot-2" }, machineCalls: ["reboot"] },
    }));

  test("is upgraded through the lifecycle API from Talos 1.13 on", () =>
    runUpgrade({
      task: { talosVersion: "v1.13.1" },
      machine: { talosVersion: "v1.13.0" },
      expect: { machineCalls: [`pull ${factoryImage("v1.13.1")}`, "upgrade lifecycle"] },
    }));

  test("is upgraded through the older API if GRUB takes kernel arguments from its configuration", () =>
    runUpgrade({
      task: { talosVersion: "v1.13.1" },
      machine: {
        talosVersion: "v1.13.0",
        runningImage: {
          extensions: {},
          configuredArgs: ["console=ttyS1"],
          bootArgs: ["console=ttyS1"],
          platform: "metal",
          secureBoot: false,
        },
      },
      expect: {
        machineCalls: [`pull ${factoryImage("v1.13.1")}`, "upgrade legacy"],
        logsOnce: ["Only the older upgrade API keeps"],
      },
    }));

  test("is neither cordoned nor drained if the stack turns drains off", () =>
    runUpgrade({
      task: { drain: false },
      cluster: { podList: [pod("app")] },
      expect: { kubernetesCalls: [], logs: ["which also evicts the remaining pods"] },
    }));

  test("that is the only node of its cluster is neither cordoned nor drained", () =>
    runUpgrade({
      cluster: { isOnlyNode: true, podList: [pod("app")] },
      expect: { machine: { bootCount: 2 }, kubernetesCalls: [] },
    }));

  test("whose node the user has cordoned is drained, and the node stays cordoned", () =>
    runUpgrade({
      cluster: { podList: [pod("app")], state: nodeState({ unschedulable: true }) },
      expect: { node: { unschedulable: true, annotations: {} }, kubernetesCalls: ["evict app"] },
    }));

  test("that awaits its smoke test leaves its node cordoned, also in the next run", () =>
    runUpgrade(
      {
        task: { awaitsTest: true },
        cluster: { podList: [pod("app")] },
        expect: {
          result: { rebooted: true },
          kubernetesCalls: ["cordon", "evict app"],
          node: { unschedulable: true, annotations: { "talos-gpu/cordoned-by": schematics.gpu } },
          logsOnce: [
            "node gpu-1 stays cordoned until its smoke test has passed; to let it take pods before, run `kubectl uncordon gpu-1 && ",
          ],
        },
      },
      {
        task: { awaitsTest: true },
        previousResult: { schematicId: schematics.gpu, cordonedAt: "at the first run" },
        expect: {
          // Not the time of the first run: the gate must run again.
          result: {
            rebooted: false,
            cordonedAt: expect.stringMatching(/^\d+-\d\d-\d\dT/) as string,
          },
          changesNothing: true,
          node: { unschedulable: true, annotations: { "talos-gpu/cordoned-by": schematics.gpu } },
        },
      },
    ));

  test("that no longer awaits its smoke test gets its node uncordoned by the next run", () =>
    runUpgrade(
      { task: { awaitsTest: true }, expect: { node: { unschedulable: true } } },
      {
        expect: {
          result: { rebooted: false },
          kubernetesCalls: ["uncordon"],
          node: { unschedulable: false, annotations: {} },
        },
      },
    ));

  test("that agrees with the stack is not cordoned for its smoke test, and its gate does not run again", () =>
    runUpgrade({
      task: { awaitsTest: true },
      previousResult: { schematicId: schematics.gpu, cordonedAt: "2026-11-30T00:00:00.000Z" },
      machine: { talosVersion: "v1.12.6", schematicId: schematics.gpu, active: STAGED },
      expect: {
        result: { cordonedAt: "2026-11-30T00:00:00.000Z" },
        changesNothing: true,
        node: { unschedulable: false },
      },
    }));

  test("whose node awaits its smoke test and is only rebooted stays cordoned", () =>
    runUpgrade(
      { task: { awaitsTest: true }, expect: { node: { unschedulable: true } } },
      {
        task: { awaitsTest: true, reboots: true },
        expect: { result: { rebooted: true }, node: { unschedulable: true } },
      },
    ));

  test("that is only rebooted is uncordoned, because no smoke test follows", () =>
    runUpgrade({
      task: { awaitsTest: true, reboots: true },
      machine: { talosVersion: "v1.12.6", schematicId: schematics.gpu, active: STAGED },
      expect: {
        result: { rebooted: true },
        kubernetesCalls: ["cordon", "uncordon"],
        node: { unschedulable: false, annotations: {} },
      },
    }));

  test("whose node Talos cordons is waited for until Talos uncordons it", () =>
    runUpgrade({
      cluster: { isOnlyNode: true },
      events: [
        {
          afterCall: "upgrade",
          node: { unschedulable: true, annotations: { "talos.dev/cordoned": "true" } },
        },
        { afterCall: "upgrade", seconds: 300, node: { unschedulable: false, annotations: {} } },
      ],
      expect: {
        node: { unschedulable: false, annotations: {} },
        kubernetesCalls: [],
        logs: ["node gpu-1 is not cordoned"],
        minutes: { atLeast: 5, lessThan: 6 },
      },
    }));

  test("with NVIDIA modules is not rebooted if it differs only in the name of its installer", () =>
    runUpgrade({
      machine: {
        talosVersion: "v1.12.6",
        schematicId: schematics.gpu,
        active: `${STAGED}  install: {image: "theirs"}`,
        persistent: `${STAGED}  install: {image: "ours"}`,
      },
      expect: {
        result: { rebooted: false, bootId: "boot-1" },
        machineCalls: ["activate"],
        machine: { active: `${STAGED}  install: {image: "ours"}` },
        kubernetesCalls: [],
      },
    }));
});

describe("a reboot that the user asks for", () => {
  test("drains and reboots a machine that is up to date", () =>
    runUpgrade({
      task: { reboots: true },
      machine: { talosVersion: "v1.12.6", schematicId: schematics.gpu, active: STAGED },
      cluster: { podList: [pod("app")] },
      expect: {
        result: { rebooted: true, bootId: "boot-2" },
        machineCalls: ["reboot"],
        kubernetesCalls: ["cordon", "evict app", "uncordon"],
      },
    }));

  test("is refused on a machine that differs from its stack", () =>
    runUpgrade({
      task: { reboots: true },
      machine: { talosVersion: "v1.12.6", schematicId: schematics.gpu },
      expect: {
        error: [
          "machines.gpu-1: differs from the stack in its image, or has a changed configuration",
          "pulumi up",
        ],
        changesNothing: true,
      },
    }));
});

describe("a machine that is up to date", () => {
  test("is not changed by the next run, even without a kubeconfig and with another talosctl", () =>
    runUpgrade(plainUpgrade, {
      task: { configurationHash: "2" },
      context: { cluster: undefined, clientVersion: "v1.5.0" },
      expect: {
        result: { rebooted: false, driverVersion: "570.211.01", bootId: "boot-2" },
        machineCalls: [],
      },
    }));

  test("passes its verification if the stack sets only the branch and a driver of this branch runs", () =>
    runUpgrade(
      { task: { driverVersion: "570" }, expect: { result: { driverVersion: "570.211.01" } } },
      { task: { driverVersion: "570" }, expect: { result: { rebooted: false } } },
      {
        task: { driverVersion: "57", configurationHash: "2" },
        expect: { error: ["NVIDIA driver 570.211.01 is loaded, not 57"] },
      },
    ));

  test("fails its verification without a reboot while its driver does not run", () =>
    runUpgrade(
      plainUpgrade,
      {
        machine: { driverWorks: false },
        expect: {
          error: [
            "kernel modules not loaded: nvidia, nvidia_uvm",
            "no NVIDIA driver is loaded",
            "service ext-nvidia-persistenced is Waiting, not Running",
          ],
        },
      },
      {
        machine: { services: async () => ({}) },
        expect: {
          error: ["service ext-nvidia-persistenced is missing"],
          machine: { bootCount: 2 },
        },
      },
    ));
});

describe("a machine that runs more than its stack lists", () => {
  const richMachine: UpgradeRun["machine"] = {
    runningImage: {
      schematic:
        "customization:\n    extraKernelArgs:\n        - intel_iommu=on\n    systemExtensions:\n        " +
        "officialExtensions:\n            - siderolabs/iscsi-tools\n",
      extensions: { "iscsi-tools": "v0.2.0" },
      configuredArgs: [],
      platform: "metal",
      secureBoot: true,
    },
  };
  test("is not changed, and the error names everything that it would lose", () =>
    runUpgrade({
      machine: richMachine,
      expect: {
        error: [
          "machines.gpu-1.extensions: the machine runs siderolabs/iscsi-tools v0.2.0",
          "machines.gpu-1.kernelArgs: the machine's kernel was started with intel_iommu=on",
          "machines.gpu-1.secureBoot: ",
        ],
        changesNothing: true,
      },
    }));

  test("is not changed if it boots by GRUB, where a kernel argument of the stack has no effect", () =>
    runUpgrade({
      imageAlsoHas: { kernelArgs: ["pci=realloc"] },
      machine: {
        runningImage: {
          extensions: {},
          configuredArgs: [],
          platform: "metal",
          commandLine: "BOOT_IMAGE=/A/vmlinuz talos.platform=metal",
          bootArgs: [],
        },
      },
      expect: {
        error: ["machines.gpu-1.kernelArgs: the machine boots with GRUB"],
        changesNothing: true,
      },
    }));

  test.each([undefined, true])(
    "is not changed if Talos' installer would refuse its configuration (the user's own image: %s)",
    (ownImage) =>
      runUpgrade({
        task: { ownImage },
        machine: {
          runningImage: { extensions: {}, configuredArgs: [], hasArgsConflict: true },
        },
        expect: {
          error: [
            "machines.gpu-1: the machine's configuration sets both machine.install.extraKernelArgs",
          ],
          changesNothing: true,
        },
      }),
  );

  const secureBootImage = `factory.talos.dev/metal-installer-secureboot/${schematics.gpu}:v1.12.6`;
  test("is upgraded once the stack lists or drops all of these parts", () =>
    runUpgrade({
      task: { installerImage: secureBootImage, drop: { kernelArgs: ["intel_iommu=on"] } },
      imageAlsoHas: { extensions: ["siderolabs/iscsi-tools"] },
      machine: richMachine,
      expect: {
        result: { rebooted: true, schematicId: schematics.gpu },
        machineCalls: [`pull ${secureBootImage}`, "upgrade legacy"],
      },
    }));

  test.each([true, undefined])(
    "is not changed if Secure Boot is on and the next image is unsigned (the user's own image: %s)",
    (ownImage) =>
      runUpgrade({
        task: { ownImage },
        machine: {
          runningImage: { extensions: {}, configuredArgs: [], platform: "metal", secureBoot: true },
        },
        previousResult: { schematicId: schematics.plain },
        expect: {
          error: ["the machine boots with Secure Boot, but its next image is not signed for it"],
          changesNothing: true,
        },
      }),
  );

  test("may lose parts that this stack added and no longer lists", () =>
    runUpgrade({
      machine: {
        runningImage: {
          schematic: "customization:\n    extraKernelArgs:\n        - intel_iommu=on\n",
          extensions: { "iscsi-tools": "v0.2.0" },
          configuredArgs: [],
          platform: "metal",
          secureBoot: false,
        },
      },
      previousResult: { schematicId: schematics.plain },
      expect: {
        result: { rebooted: true },
        machine: { schematicId: schematics.gpu },
        machineCalls: [`pull ${factoryImage("v1.12.6")}`, "upgrade legacy"],
      },
    }));
});

describe("after an upgrade", () => {
  test("a warning names an argument of the stack that the kernel started without", () =>
    runUpgrade({
      imageAlsoHas: { kernelArgs: ["pci=realloc", "iommu=pt"] },
      machine: {
        runningImage: {
          extensions: {},
          configuredArgs: [],
          platform: "metal",
          commandLine: "console=tty0 iommu=pt",
        },
      },
      expect: {
        result: { rebooted: true },
        logs: [
          /^warning: gpu-1: the running kernel does not match these kernelArgs: pci=realloc; /,
        ],
      },
    }));

  test("a warning names an argument of Talos that the stack removes and the kernel still has", () =>
    runUpgrade({
      imageAlsoHas: { kernelArgs: ["-selinux"] },
      machine: {
        runningImage: {
          extensions: {},
          configuredArgs: [],
          platform: "metal",
          commandLine: "console=tty0 selinux=1",
        },
      },
      expect: {
        logs: [/^warning: gpu-1: the running kernel does not match these kernelArgs: -selinux; /],
      },
    }));

  test("a warning names one value of an argument that the stack removes and the kernel still has", () =>
    runUpgrade({
      imageAlsoHas: { kernelArgs: ["-console=tty0"] },
      machine: {
        runningImage: {
          extensions: {},
          configuredArgs: [],
          platform: "metal",
          commandLine: "console=tty0 console=ttyS0",
        },
      },
      expect: {
        logs: [
          /^warning: gpu-1: the running kernel does not match these kernelArgs: -console=tty0; /,
        ],
      },
    }));

  test("no warning is logged if the kernel lacks the arguments that the stack removes", () =>
    runUpgrade({
      imageAlsoHas: { kernelArgs: ["-selinux", "-console=tty0"] },
      machine: {
        runningImage: {
          extensions: {},
          configuredArgs: [],
          platform: "metal",
          commandLine: "console=ttyS0",
        },
      },
      expect: { logsNever: ["warning: "] },
    }));

  test("no warning is logged if an argument of the stack replaces the removed argument", () =>
    runUpgrade({
      imageAlsoHas: { kernelArgs: ["-console", "console=ttyS1"] },
      machine: {
        runningImage: {
          extensions: {},
          configuredArgs: [],
          platform: "metal",
          commandLine: "console=ttyS1",
        },
      },
      expect: { logsNever: ["warning: "] },
    }));
});

describe("the cluster's admission webhooks", () => {
  const atUpgrade = (cluster: Partial<FakeCluster>, seconds?: number): Event => ({
    afterCall: "upgrade",
    cluster,
    ...defined({ seconds }),
  });
  const served = { webhooks: [webhookService(true)] };
  const unserved = { webhooks: [webhookService(false)] };
  /** The webhook's only endpoint, a pod of the machine's node. */
  const servedAt = (address: string): Partial<FakeCluster> => ({
    webhooks: [webhookService(true, { node: "gpu-1", pod: "7", addresses: [address] })],
  });
  /** What the kubelet reports of that pod. */
  const reported = (container: string, ready: boolean, address: string): Partial<FakeCluster> => ({
    reported: { "7": { containers: [container], ready, addresses: [address] } },
  });
  const usualPhases = [
    "reach",
    "compare",
    "precheck",
    "pull",
    "drain",
    "reboot",
    "verify",
    "uncordon",
  ] as const;

  test("are awaited if their pods have to start again after the reboot", () =>
    runUpgrade({
      cluster: { isOnlyNode: true, ...served },
      events: [atUpgrade(unserved), atUpgrade(served, 260)],
      expect: {
        phases: [...usualPhases, "webhooks"],
        logs: ["webhooks: waiting up to 5m for the pods of the cluster's admission webhooks"],
        minutes: { atLeast: 260 / 60, lessThan: 6 },
      },
    }));

  test("are awaited although Kubernetes still lists the endpoints from before the reboot", () => {
    const [former, next] = ["10.244.0.3", "10.244.0.5"];
    return runUpgrade({
      cluster: { isOnlyNode: true, ...servedAt(former), ...reported("old", true, former) },
      events: [
        atUpgrade(reported("new", false, next), 240),
        atUpgrade(reported("new", true, next), 250),
        atUpgrade(servedAt(next), 270),
      ],
      expect: {
        phases: [...usualPhases, "webhooks"],
        minutes: { atLeast: 270 / 60, lessThan: 6 },
      },
    });
  });

  test("are awaited although their pods changed between the first question and the reboot", () => {
    const address = "10.244.0.3";
    return runUpgrade({
      cluster: { isOnlyNode: true, ...servedAt(address), ...reported("first", true, address) },
      events: [
        { afterCall: "pull", cluster: reported("second", true, address) },
        atUpgrade(reported("third", true, address), 260),
      ],
      expect: {
        phases: [...usualPhases, "webhooks"],
        minutes: { atLeast: 260 / 60, lessThan: 6 },
      },
    });
  });

  test("get a warning if no pod answers for them after the reboot", () =>
    runUpgrade({
      cluster: { isOnlyNode: true, ...served },
      events: [atUpgrade(unserved)],
      expect: {
        logs: [
          /^warning: gpu-1: no pod answers the admission webhooks of policies\/kyverno \(after 5m\); /,
        ],
      },
    }));

  test("get a warning if Kubernetes refuses to say whether pods answer for them", () =>
    runUpgrade({
      cluster: { isOnlyNode: true, ...served },
      events: [atUpgrade({ webhookError: new CallError("refused", "endpoints: not acceptable") })],
      expect: {
        logs: [/^warning: gpu-1: not known whether pods answer .* \(endpoints: not acceptable\)$/],
      },
    }));

  test.each<[string, Pick<UpgradeRun, "node" | "task">]>([
    ["which is cordoned)", { node: { unschedulable: true } }],
    ["which stays cordoned until its smoke test has passed)", { task: { awaitsTest: true } }],
  ])("are not awaited if their pods may wait for the node, %s", (reason, fields) =>
    runUpgrade({
      ...fields,
      cluster: served,
      events: [atUpgrade(unserved)],
      expect: {
        logs: [`they may wait for node gpu-1, ${reason}`],
        logsNever: ["webhooks: waiting"],
        minutes: { lessThan: 5 },
      },
    }),
  );

  test.each<[string, Partial<FakeCluster>, Partial<FakeCluster>]>([
    ["no pod answered for them before the reboot", unserved, unserved],
    ["a pod on another node answers for them", served, served],
    [
      "Kubernetes does not say which webhooks it has",
      { webhookError: new CallError("refused", "no") },
      {},
    ],
  ])("are not awaited if %s", (_, before, after) =>
    runUpgrade({
      cluster: { isOnlyNode: true, ...before },
      events: [atUpgrade(after)],
      expect: { phases: [...usualPhases], logsNever: ["webhooks"] },
    }),
  );

  test("are not awaited if the machine does not reboot", () =>
    runUpgrade(plainUpgrade, {
      cluster: served,
      events: [{ atSecond: 1, cluster: unserved }],
      expect: { result: { rebooted: false }, logsNever: ["webhooks"] },
    }));
});
