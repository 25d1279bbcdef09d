import type { CauseId, FixId } from "../../components/diagnosis";
import type { ObservedCluster } from "./observed-cluster";

/** A change by hand in the cluster of the stack rtx3090, and the resulting differences from its plan. */
interface DifferenceCase {
  name: string;
  change: (cluster: ObservedCluster) => void;
  /** All differences, each in one line. */
  differences: string[];
  /** The known causes. Default: none. */
  causes?: (CauseId | FixId)[];
  /** A part of the only difference's remedy. Default: not compared. */
  remedy?: string;
}

const withoutItem = <Item extends { name: string }>(list: Item[], name: string): Item[] =>
  list.filter((item) => item.name !== name);

const offerNoGpus = ({ node }: ObservedCluster): void => {
  node.allocatable = { "nvidia.com/gpu": "0" };
};

/** Makes the device plugin's pod crash again and again, with these last words. */
const crashPlugin = ({ pod }: ObservedCluster, lastMessage: string): void => {
  pod("nvidia-device-plugin-rtx3090").containers = [
    { name: "ctr", state: "waiting", ready: false, reason: "CrashLoopBackOff", lastMessage },
  ];
};

export const differenceCases: DifferenceCase[] = [
  {
    name: "a deleted plugin",
    change: (cluster) => {
      const { observations } = cluster;
      offerNoGpus(cluster);
      observations.daemonSets = withoutItem(observations.daemonSets, "nvidia-device-plugin");
      observations.pods = withoutItem(observations.pods, "nvidia-device-plugin-rtx3090");
    },
    differences: [
      "node rtx3090: offers 0 of nvidia.com/gpu, the plan says 8",
      "DaemonSet of the device plugin: is not in namespace gpu-device-plugin",
    ],
  },
  {
    name: "a crashing plugin",
    change: (cluster) => {
      const { plugin } = cluster;
      offerNoGpus(cluster);
      plugin.ready = 0;
      crashPlugin(cluster, "panic: out of order");
    },
    differences: [
      "node rtx3090: offers 0 of nvidia.com/gpu, the plan says 8",
      "DaemonSet gpu-device-plugin/nvidia-device-plugin: not ready: 0 of 1 pods",
    ],
  },
  {
    name: "a missing NVML",
    change: (cluster) => {
      const { plugin } = cluster;
      offerNoGpus(cluster);
      plugin.ready = 0;
      crashPlugin(cluster, "nvml init failed: ERROR_LIBRARY_NOT_FOUND");
    },
    differences: [
      "node rtx3090: offers 0 of nvidia.com/gpu, the plan says 8",
      "DaemonSet gpu-device-plugin/nvidia-device-plugin: not ready: 0 of 1 pods",
    ],
    causes: ["driverLibraries"],
  },
  {
    name: "a wrong driver root",
    change: (cluster) => {
      const { plugin } = cluster;
      offerNoGpus(cluster);
      plugin.ready = 0;
      crashPlugin(
        cluster,
        "failed to create CDI spec generator: failed to open ld cache: open /driver-root/etc/ld.so.cache: no such file or directory; unable to create cdi spec file",
      );
    },
    differences: [
      "node rtx3090: offers 0 of nvidia.com/gpu, the plan says 8",
      "DaemonSet gpu-device-plugin/nvidia-device-plugin: not ready: 0 of 1 pods",
    ],
    causes: ["driverRoot"],
  },
  {
    name: "a containerd without the handler",
    change: ({ observations, node }) => {
      node.runtimeHandlers = ["runc"];
      observations.events = [
        {
          namespace: "gpu-device-plugin",
          object: "Pod/web",
          message:
            'Failed to create pod sandbox: rpc error: code = Unknown desc = unable to get OCI runtime for sandbox "3f": no runtime for "nvidia" is configured',
        },
      ];
    },
    differences: ['node rtx3090: its containerd has no runtime "nvidia"'],
    causes: ["runtimeHandler"],
  },
  {
    name: "a missing RuntimeClass",
    change: ({ observations }) => {
      observations.runtimeClasses = withoutItem(observations.runtimeClasses, "nvidia");
    },
    differences: ["RuntimeClass nvidia: is not there"],
  },
  {
    name: "a RuntimeClass with another handler",
    change: ({ runtimeClass }) => {
      runtimeClass.handler = "runc";
    },
    differences: ["RuntimeClass nvidia: has the handler runc, the plan says nvidia"],
  },
  {
    name: "an additional taint",
    change: ({ node }) => {
      node.taints = ["maintenance=yes:NoExecute"];
    },
    differences: [
      "node rtx3090: has the taint maintenance=yes:NoExecute, which the stack's GPU pods do not tolerate",
    ],
  },
  {
    name: "a missing label",
    change: ({ node, plugin }) => {
      plugin.desired = 0;
      plugin.ready = 0;
      node.allocatable = {};
      delete node.labels["nvidia.com/gpu.present"];
    },
    differences: [
      "node rtx3090: offers none of nvidia.com/gpu, the plan says 8",
      "node rtx3090: lacks the label nvidia.com/gpu.present=true",
      "DaemonSet gpu-device-plugin/nvidia-device-plugin: has 0 desired pods, the plan has 1 GPU machine",
    ],
    causes: ["gpuPresentLabel"],
  },
  {
    name: "a staged configuration",
    change: ({ machine }) => {
      machine.staged = true;
    },
    differences: [
      "machine rtx3090: has a different configuration staged for its next boot, from another tool or from an unfinished update",
    ],
  },
  {
    name: "a missing card",
    change: ({ node }) => {
      node.allocatable = { "nvidia.com/gpu": "4" };
    },
    differences: ["node rtx3090: offers 4 of nvidia.com/gpu, the plan says 8"],
  },
  {
    name: "slices with another resource name",
    change: ({ node }) => {
      node.allocatable = { ...node.allocatable, "nvidia.com/gpu.shared": "8" };
    },
    differences: ["node rtx3090: offers 8 of nvidia.com/gpu.shared, the plan says none"],
  },
  {
    name: "another schematic after an upgrade by hand",
    change: ({ machine }) => {
      machine.schematicId = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba";
    },
    differences: [
      "machine rtx3090: runs the image of schematic 376567988ad3, the plan says 6698d6f136c5: the machine was upgraded or reinstalled by hand, or the stack has not upgraded it yet",
    ],
  },
  {
    name: "another Talos release",
    change: ({ machine }) => {
      machine.talosVersion = "v1.10.1";
    },
    differences: ["machine rtx3090: runs Talos v1.10.1, the plan says v1.10.9"],
  },
  {
    name: "a Talos release several minors behind",
    change: ({ machine }) => {
      machine.talosVersion = "v1.8.4";
    },
    differences: [
      "machine rtx3090: runs Talos v1.8.4, the plan says v1.10.9: an update first upgrades to v1.9.6, with 2 reboots in all",
    ],
  },
  {
    name: "a machine that was reinstalled without extensions",
    change: ({ machine }) => {
      machine.extensions = [];
      machine.schematicId = "0";
    },
    differences: [
      "machine rtx3090: runs the image of schematic 0, the plan says 6698d6f136c5: the machine was upgraded or reinstalled by hand, or the stack has not upgraded it yet",
      "machine rtx3090: its image lacks the extensions nvidia-container-toolkit-production, nvidia-open-gpu-kernel-modules-production",
    ],
  },
  {
    name: "a missing driver",
    change: ({ machine }) => {
      machine.driverVersion = null;
    },
    differences: ["machine rtx3090: no NVIDIA driver is loaded, the plan says 570.148.08"],
  },
  {
    name: "a missing module",
    change: ({ machine }) => {
      machine.modules = machine.modules!.filter((name) => name !== "nvidia");
    },
    differences: ["machine rtx3090: kernel modules are not loaded: nvidia"],
    causes: ["kernelModules"],
  },
  {
    name: "a card that the PCI bus does not list",
    change: ({ machine }) => {
      machine.cards = 0;
      machine.modules = [];
    },
    differences: [
      "machine rtx3090: its PCI bus shows 0 of NVIDIA's cards, the plan says 2: check the firmware, seat, power and pass-through of the missing card",
      "machine rtx3090: kernel modules are not loaded: nvidia, nvidia_uvm, nvidia_drm, nvidia_modeset",
    ],
    causes: ["kernelModules"],
  },
  {
    name: "a card that only the PCI list of Talos lacks",
    change: ({ machine }) => {
      machine.cards = 0;
    },
    differences: [],
  },
  {
    name: "a card that hangs",
    change: ({ machine }) => {
      machine.errors = ["NVRM: Xid (PCI:0000:0b:00): 119, pid=1, name=x, Timeout"];
    },
    differences: [],
    causes: ["cardReset"],
  },
  {
    name: "a service that waits",
    change: ({ machine }) => {
      machine.services = { "ext-nvidia-persistenced": "Waiting" };
    },
    differences: [
      "machine rtx3090: service ext-nvidia-persistenced is Waiting, the plan says Running",
    ],
  },
  {
    name: "a machine that does not finish its boot",
    change: ({ machine }) => {
      machine.stage = "booting";
    },
    differences: ["machine rtx3090: is booting, not running"],
  },
  {
    name: "a node that is not ready",
    change: ({ node }) => {
      node.ready = false;
    },
    differences: ["node rtx3090: is not ready"],
  },
  {
    name: "a node that is cordoned",
    change: ({ node }) => {
      node.unschedulable = true;
    },
    differences: ["node rtx3090: is cordoned, so no new pod can start there"],
  },
  {
    name: "a node that an update has cordoned",
    change: ({ node }) => {
      node.unschedulable = true;
      node.cordonedByUpdate = true;
    },
    differences: ["node rtx3090: is cordoned, so no new pod can start there"],
    remedy: "kubectl annotate node rtx3090 talos-gpu/cordoned-by-",
  },
  {
    name: "a missing node",
    change: ({ observations }) => {
      observations.nodes = [];
    },
    differences: [
      "node rtx3090: is not in the cluster",
      "node rtx3090: offers none of nvidia.com/gpu, the plan says 8",
    ],
  },
  {
    name: "a missing Helm release",
    change: ({ observations }) => {
      observations.releases = [];
    },
    differences: ["Helm release gpu-device-plugin/nvidia-device-plugin: is not installed"],
  },
  {
    name: "a Helm release whose upgrade was killed",
    change: ({ release }) => {
      release.status = "pending-upgrade";
    },
    differences: [
      "Helm release gpu-device-plugin/nvidia-device-plugin: is pending-upgrade in revision 1, not deployed",
    ],
    causes: ["releasePending"],
  },
  {
    name: "a Helm release with another chart version",
    change: ({ plugin }) => {
      plugin.labels = { "helm.sh/chart": "nvidia-device-plugin-0.14.0" };
    },
    differences: [
      "Helm release gpu-device-plugin/nvidia-device-plugin: has the chart nvidia-device-plugin-0.14.0, the plan says nvidia-device-plugin-0.17.4",
    ],
  },
  {
    name: "a namespace without its label",
    change: ({ namespace }) => {
      namespace.labels = {};
    },
    differences: [
      "namespace gpu-device-plugin: lacks the label pod-security.kubernetes.io/enforce=privileged",
      "namespace gpu-device-plugin: lacks the label pod-security.kubernetes.io/audit=privileged",
      "namespace gpu-device-plugin: lacks the label pod-security.kubernetes.io/warn=privileged",
    ],
  },
  {
    name: "a missing smoke test",
    change: ({ observations }) => {
      observations.jobs = [];
    },
    differences: ["Job of the smoke test of rtx3090: is not in namespace gpu-device-plugin"],
  },
  {
    name: "a smoke test that has not passed",
    change: ({ job }) => {
      job.succeeded = 0;
    },
    differences: [
      "Job gpu-device-plugin/gpu-smoke-test-rtx3090-abcdef-12345678: the smoke test has not passed",
    ],
  },
  {
    name: "a new smoke test that has not passed, after an old one that passed",
    change: ({ observations, job }) => {
      job.created = "2026-11-01T00:00:00.000Z";
      observations.jobs.push({
        namespace: "gpu-device-plugin",
        name: "gpu-smoke-test-rtx3090-abcdef-22222222",
        created: "2026-11-02T00:00:00.000Z",
        succeeded: 0,
      });
    },
    differences: [
      "Job gpu-device-plugin/gpu-smoke-test-rtx3090-abcdef-22222222: the smoke test has not passed",
    ],
  },
  {
    name: "a new smoke test that has passed, after an old one that did not",
    change: ({ observations, job }) => {
      job.succeeded = 0;
      job.created = "2026-11-01T00:00:00.000Z";
      observations.jobs.push({
        namespace: "gpu-device-plugin",
        name: "gpu-smoke-test-rtx3090-abcdef-22222222",
        created: "2026-11-02T00:00:00.000Z",
        succeeded: 1,
      });
    },
    differences: [],
  },
  {
    name: "a missing power limit",
    change: ({ observations }) => {
      observations.daemonSets = withoutItem(observations.daemonSets, "nvidia-power-limit-300w");
    },
    differences: ["DaemonSet of the power limit of 300 W: is not in namespace gpu-device-plugin"],
  },
  {
    name: "a missing workload",
    change: ({ observations }) => {
      observations.pods = withoutItem(observations.pods, "gpu-test-1");
    },
    differences: ["Pod gpu-pods/gpu-test-1: is not there"],
  },
];
