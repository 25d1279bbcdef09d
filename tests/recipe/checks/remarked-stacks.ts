import type { ClusterSpec } from "../../../components/recipe";
import { merged, validStack } from "../stacks";

/** A change of a stack, as a JSON merge patch: null takes a field away, and a list takes the place of a list. */
type Patch<T> = T extends readonly unknown[]
  ? T
  : T extends object
    ? { [key in keyof T]?: Patch<T[key]> | null }
    : T;

/** A stack that may go on, and what is good to know of it. */
interface RemarkedStack {
  name: string;
  /** A stack of tests/fixtures/valid. */
  base: string;
  /** Default: none. */
  change?: Patch<ClusterSpec>;
  /** Warnings and notes that it has, at least: the check, the field, and a part of what users read. */
  says: [check: string, field: string, part: string][];
}

const withoutRelease = { gpuOperator: null, devicePlugin: null };

/** Stacks with each warning and each note of the table of checks. */
export const remarkedStacks: RemarkedStack[] = [
  {
    name: "parameters of NVIDIA's modules among the kernel arguments",
    base: "velaryon",
    change: {
      machines: { velaryon: { kernelArgs: ["nvidia_drm.modeset=1", "nvidia-drm.fbdev=1"] } },
    },
    says: [
      [
        "kernel-args",
        "machines.velaryon.kernelArgs[0]",
        "moduleParameters: `nvidia_drm: ['modeset=1']`",
      ],
      [
        "kernel-args",
        "machines.velaryon.kernelArgs[1]",
        "nvidia-drm.fbdev has no effect as a kernel argument",
      ],
    ],
  },
  {
    name: "a parameter of NVIDIA's module among those of a patch",
    base: "velaryon",
    change: { patches: ["machine: { install: { extraKernelArgs: [nvidia_drm.modeset=1] } }"] },
    says: [["kernel-args", "patches[0]", "nvidia_drm.modeset has no effect as a kernel argument"]],
  },
  {
    name: "a value that the chart of an external release does not have",
    base: "rtx5070ti",
    change: {
      ...withoutRelease,
      external: {
        read: {
          kind: "gpuOperator",
          by: "Flux",
          version: "v26.3.3",
          values: {
            driver: { enabled: false },
            toolkit: { enabled: false },
            cdi: { enabled: false },
            operator: { defaultRuntime: "containerd" },
          },
          places: { "operator.defaultRuntime": "hr.yaml:13" },
        },
      },
    },
    says: [
      [
        "chart-values",
        "external.values.operator.defaultRuntime",
        "no such value (hr.yaml:13); Helm silently ignores it, and what it was meant to do does not happen; see `helm show values`, or leave it out",
      ],
    ],
  },

  // What an update meets
  {
    name: "a release that is newer than the tables",
    base: "rtx5070ti",
    change: { talosVersion: "v1.12.40" },
    says: [
      [
        "release-drivers",
        "talosVersion",
        "v1.12.40 is newer than the tables; drivers of v1.12.12 are assumed (580.126.20, 570.211.01), so only the branch of a machine's driver is verified; take a release of the tables",
      ],
    ],
  },
  {
    name: "such a release, unknown to the Image Factory",
    base: "rtx5070ti",
    change: {
      talosVersion: "v1.12.40",
      releaseFacts: { talosVersion: "v1.12.40", silent: "ECONNREFUSED" },
    },
    says: [
      [
        "release-drivers",
        "talosVersion",
        "are assumed (580.126.20, 570.211.01), as the Image Factory says nothing (ECONNREFUSED), so only",
      ],
    ],
  },
  {
    name: "a release that is in the tables by inference",
    base: "one-card",
    change: { talosVersion: "v1.13.10" },
    says: [
      [
        "release-drivers",
        "talosVersion",
        "v1.13.10 is in the tables by inference; drivers are assumed (580.178.04, 595.91.07), so",
      ],
    ],
  },
  {
    name: "such a release, whose drivers the Image Factory says",
    base: "one-card",
    change: {
      talosVersion: "v1.13.10",
      releaseFacts: {
        talosVersion: "v1.13.10",
        lts: "580.190.10",
        production: "595.99.10",
        toolkit: "1.19.2",
      },
    },
    says: [
      [
        "release-drivers",
        "talosVersion",
        "the Image Factory says that it brings drivers 580.190.10 (lts) and 595.99.10 (production), toolkit 1.19.2; nothing needs to be done",
      ],
    ],
  },
  {
    name: "a machine of a release of its own that is newer than the tables",
    base: "one-card",
    change: { machines: { gpu: { talosVersion: "v1.13.99" } } },
    says: [["release-drivers", "machines.gpu.talosVersion", "v1.13.99 is newer than the tables"]],
  },
  {
    name: "a machine that is away",
    base: "rtx5070ti",
    change: { away: ["k8s-worker4"], machines: { "k8s-worker4": { mayBeAway: true } } },
    says: [
      [
        "machine-away",
        "machines",
        "k8s-worker4: away; this update leaves a machine that is away as the last one left it; bring the stack up again once it is back",
      ],
    ],
  },
  {
    name: "a new cluster of Talos ≤ 1.12",
    base: "rtx5070ti",
    change: {
      talosVersion: "v1.12.4",
      bootstrap: true,
      machines: { "k8s-worker4": { role: "controlplane" } },
    },
    says: [
      [
        "boot-medium",
        "bootstrap",
        "k8s-worker4 will run Talos older than 1.13, and may wait in a boot medium of that release; from a boot medium older than Talos 1.13 the Talos provider cannot install, and tries until its time is over; start them from a boot medium of Talos 1.13 or newer, whatever release the stack installs",
      ],
    ],
  },
  {
    name: "machines that go to another era",
    base: "modern",
    says: [
      [
        "era-crossing",
        "machines",
        "gpu-1 will go from Talos ≤ 1.12 to ≥ 1.13; no new pod gets a GPU until the last machine is upgraded; first remove what the stack did not make",
      ],
    ],
  },
  {
    name: "machines that go to another era, some of them ahead",
    base: "modern",
    change: { upgrade: { first: ["gpu-1"] } },
    says: [["era-crossing", "machines", "nor before those that go ahead are"]],
  },
  {
    name: "machines that go to another era under an external release",
    base: "modern",
    change: { ...withoutRelease, sharing: null, external: { kind: "devicePlugin" } },
    says: [
      [
        "era-crossing",
        "machines",
        "from the change of the values until a machine is upgraded, no new pod gets a GPU there; let its installer apply the values for the newer Talos",
      ],
    ],
  },
  {
    name: "an external release that does not fit the next era",
    base: "rtx5070ti",
    change: {
      ...withoutRelease,
      external: {
        kind: "gpuOperator",
        version: "v25.10.1",
        values: {
          driver: { enabled: false },
          toolkit: { enabled: false },
          cdi: { enabled: false },
          devicePlugin: { env: [{ name: "DEVICE_LIST_STRATEGY", value: "envvar" }] },
        },
      },
    },
    says: [
      [
        "next-era",
        "external",
        "does not fit Talos 1.13 yet; a stack with that release would be refused; right before an upgrade to Talos 1.13: external.version: take v26.3.1 or newer",
      ],
    ],
  },

  // Contracts
  {
    name: "an owned machine whose contract nothing pins",
    base: "rtx5070ti",
    change: { machineDefaults: null } as never,
    says: [
      [
        "contract-pinned",
        "machineDefaults.versionContract",
        "nothing pins the contract of k8s-worker4, whose configuration is generated for Talos v1.12; a preview stops at the next minor release of Talos; write `versionContract: v1.12`",
      ],
    ],
  },
  {
    name: "a contract of a machine that another tool configures",
    base: "one-card",
    change: { machines: { gpu: { versionContract: "v1.12" } } },
    says: [
      [
        "contract-owner",
        "machines.gpu.versionContract",
        "has no effect on a machine whose configuration is adopted; its owner generates the configuration; leave it out",
      ],
    ],
  },

  // Machines
  {
    name: "a toolkit with published container escapes",
    base: "one-card",
    change: { talosVersion: "v1.10.3", gpuOperator: { version: "v25.10.1" } },
    says: [
      [
        "container-escape",
        "machines.gpu",
        "an image that means harm takes over the machine; take Talos v1.10.4 or newer",
      ],
    ],
  },
  {
    name: "workload isolation",
    base: "one-card",
    change: {
      talosVersion: "v1.14.1",
      patches: ["apiVersion: v1alpha1\nkind: SecurityProfileConfig\nworkloadIsolation: true\n"],
    },
    says: [
      [
        "workload-isolation",
        "machines.gpu",
        "workload isolation (SecurityProfileConfig) was not tried with a card; containerd, the kubelet and all pods then",
      ],
    ],
  },
  {
    name: "a card in a slot of an arm64 machine",
    base: "one-card",
    change: {
      talosVersion: "v1.14.1",
      machines: { gpu: { overlay: { image: "siderolabs/sbc-raspberrypi", name: "rpi_generic" } } },
    },
    says: [
      [
        "branch-targets",
        "machines.gpu.kernelArgs",
        "the kernel of Talos ≥ 1.13 has branch target identification on arm64",
      ],
    ],
  },
  {
    name: "a fabric manager next to half a board",
    base: "one-card",
    change: {
      machines: {
        gpu: {
          gpus: [{ model: "H100 80GB HBM3", count: 4 }],
          extensions: ["siderolabs/nvidia-fabricmanager-production"],
        },
      },
    },
    says: [
      [
        "nvswitch-unknown",
        "machines.gpu.extensions",
        "whether an NVSwitch is in the machine is not known here; without one the fabric manager ends at once with NV_WARN_NOTHING_TO_DO, and the update would wait for it; leave the fabric manager out",
      ],
    ],
  },
  {
    name: "an installer image of one's own",
    base: "one-card",
    change: {
      machines: { gpu: { installerImage: "registry.example.com/talos/installer:v1.13.9-nvidia" } },
    },
    says: [
      [
        "own-image",
        "machines.gpu.installerImage",
        "nor what the machine would lose with it; its owner made it, and nothing lists its contents; make sure that the image has siderolabs/nvidia-",
      ],
    ],
  },
  {
    name: "an installer image of one's own, whose machine needs kernel arguments",
    base: "one-card",
    change: {
      machines: {
        gpu: {
          gpus: [{ model: "GB10" }],
          installerImage: "registry.example.com/talos/installer:v1.13.9-nvidia",
        },
      },
    },
    says: [
      ["own-image", "machines.gpu.installerImage", ", and the kernel arguments arm64.nobti"],
      [
        "gb10-modules",
        "machines.gpu.gpus",
        "modules were not tried by us on a GB10; Talos' documentation names the proprietary modules",
      ],
      ["gb10-modules", "machines.gpu.gpus", "set machines.gpu.driver.flavour: "],
    ],
  },
  {
    name: "an installer image of a machine without a card",
    base: "one-card",
    change: {
      machines: {
        other: {
          address: "10.0.0.2",
          role: "worker",
          configuration: "adopted",
          installerImage: "registry.example.com/talos/installer:v1.13.9",
        },
      },
    },
    says: [
      [
        "own-image",
        "machines.other.installerImage",
        "make sure that the image has what the machine needs",
      ],
    ],
  },
  {
    name: "the operator's label, set by the stack",
    base: "one-card",
    change: { machines: { gpu: { labels: { "nvidia.com/gpu.present": "true" } } } },
    says: [
      [
        "operators-label",
        "machines.gpu.labels.nvidia.com/gpu.present",
        "is left to the operator; it sets the label once Node Feature Discovery has found the card; leave it out",
      ],
    ],
  },

  // Cards
  {
    name: "a card of no table",
    base: "one-card",
    change: {
      machines: {
        gpu: { gpus: [{ model: "RTX 6090", architecture: "Blackwell", memory: "48Gi" }] },
      },
    },
    says: [
      [
        "card-described",
        "machines.gpu.gpus[0]",
        '"RTX 6090" is in no table of cards; it is taken as the stack describes it (Blackwell), and whether',
      ],
    ],
  },
  {
    name: "cards of two models",
    base: "one-card",
    change: {
      machines: { gpu: { gpus: [{ model: "RTX 3090" }, { model: "RTX 4090" }] } },
    },
    says: [
      [
        "card-alike",
        "machines.gpu.gpus",
        "a pod that requests a GPU of gpu gets any of its cards (RTX 3090, RTX 4090); Kubernetes does not tell the cards of a node apart; nothing needs to be done, unless a pod needs a certain card: then use dra",
      ],
    ],
  },
  {
    name: "cards of one name with different memory, one size unknown",
    base: "one-card",
    change: {
      machines: {
        gpu: { gpus: [{ model: "RTX 4060 Ti" }, { model: "RTX 4060 Ti", memory: "8Gi" }] },
      },
    },
    says: [
      [
        "card-alike",
        "machines.gpu.gpus",
        "RTX 4060 Ti with unknown memory, RTX 4060 Ti with 8188Mi",
      ],
    ],
  },
  {
    name: "a card that virtual machines get",
    base: "one-card",
    change: { machines: { gpu: { kernelArgs: ["vfio-pci.ids=10de:1aef,10DE:2204"] } } },
    says: [
      [
        "card-passed-on",
        "machines.gpu.gpus[0]",
        "virtual machines get every RTX 3090 of gpu, by the ID 10DE:2204 that vfio-pci is given; NVIDIA's driver never sees the card, and pods that request it stay Pending; leave it out of gpus, or bind",
      ],
    ],
  },
  {
    name: "a claim that fits the larger card of a name",
    base: "dra",
    change: {
      machines: { small: { gpus: [{ model: "RTX 4060 Ti" }] } },
      workloads: {
        vllm: null,
        pods: null,
        ollama: { claim: { architecture: null, memory: "12Gi" } },
      },
    },
    says: [
      [
        "card-memory",
        "machines.small.gpus[0].memory",
        "the RTX 4060 Ti exists with 8188Mi or 16380Mi, and the 12Gi of workloads.ollama.claim.memory do not fit each of them; on a card with less memory no such pod starts; say which one it is",
      ],
    ],
  },
  {
    name: "a power limit that no table can judge",
    base: "one-card",
    change: { machines: { gpu: { powerLimit: 380 } } },
    says: [
      [
        "power-limit-range",
        "machines.gpu.powerLimit",
        "whether the RTX 3090 takes 380 W is not known here; where it does not, nvidia-smi refuses the limit, and the card runs with its own; look at the card's range",
      ],
    ],
  },

  // MIG
  {
    name: "MIG on one machine of two",
    base: "mig-beside-whole",
    says: [
      ["mig-untried", "sharing.mig", "MIG was not tried on hardware by us; slices end with every"],
      ["mig-untried", "sharing.mig", "others split cards on Talos whose MIG mode was on already"],
      [
        "mig-whole",
        "sharing.mig",
        "home-1 has no card with MIG; cards without MIG are offered whole; nothing needs to be done",
      ],
    ],
  },
  {
    name: "a card of unknown MIG profiles",
    base: "one-card",
    change: {
      machines: {
        gpu: {
          gpus: [{ model: "NVIDIA X100 80GB", architecture: "Hopper", memory: "80Gi" }],
        },
      },
      sharing: { mig: { strategy: "single", profile: "all-1g.10gb" } },
    },
    says: [
      [
        "mig-profiles",
        "machines.gpu.gpus[0]",
        "the MIG profiles of the NVIDIA X100 80GB are not known here; the plan counts on one instance of the profile or more, so no check says whether all requests fit; look at the node's label",
      ],
    ],
  },
  {
    name: "a card whose MIG mode changes by a reset",
    base: "mig",
    change: {
      machines: { "dc-1": { gpus: [{ model: "A30" }], powerLimit: null } },
      sharing: { mig: { profile: "1g.6gb" } },
    },
    says: [
      [
        "mig-reset",
        "sharing.mig",
        "an Ampere card of dc-1 changes its MIG mode by a reset; nvidia-persistenced keeps the card from being reset; where nvidia.com/mig.config.state becomes failed, reboot the machine once",
      ],
    ],
  },

  // Releases of the charts
  {
    name: "a plugin between two of the tables",
    base: "aarhus-h100",
    change: { devicePlugin: { version: "0.18.0" } },
    says: [
      [
        "chart-release",
        "devicePlugin.version",
        "nvidia-device-plugin 0.18.0 is not in the tables; its values are judged by those of 0.17.4 and 0.18.2; compare the values with",
      ],
    ],
  },
  {
    name: "a value of a release that is newer than the tables",
    base: "one-card",
    change: { gpuOperator: { version: "v99.9.0", values: { cardDoctor: { enabled: true } } } },
    says: [
      [
        "chart-value",
        "gpuOperator.values.cardDoctor",
        "whether gpu-operator v99.9.0 has this value is not known here; Helm ignores a value that a chart does not have; look for it in `helm show values`",
      ],
    ],
  },
  {
    name: "an operator that NVIDIA no longer supports",
    base: "rtx5070ti",
    says: [
      [
        "operator-support",
        "gpuOperator.version",
        "v25.10.1 is a release of the operator that NVIDIA no longer supports; of the releases since, 26.3 is deprecated",
      ],
    ],
  },
  {
    name: "a plugin that asks for InfiniBand",
    base: "aarhus-h100",
    change: { devicePlugin: { version: "0.19.2" } },
    says: [
      [
        "infiniband-devices",
        "devicePlugin.version",
        "nvidia-device-plugin 0.19.2 gives each GPU container the machine's InfiniBand, GPUDirect Storage and GDRCopy devices, too; other device plugins may hand out these devices; take the plugin 0.19.3",
      ],
    ],
  },
  {
    name: "GPUDirect Storage",
    base: "one-card",
    change: { talosVersion: "v1.14.1", gpuOperator: { values: { gds: { enabled: true } } } },
    says: [
      [
        "storage-untried",
        "gpuOperator.values.gds.enabled",
        "GPUDirect Storage was not tried on Talos by us; the module nvidia_fs is loaded on each machine with a card; NVIDIA supports it only with the open kernel modules",
      ],
      ["storage-untried", "gpuOperator.values.gds.enabled", "try one machine first"],
    ],
  },
  {
    name: "a Node Feature Discovery of the cluster's own",
    base: "rtx5070ti",
    change: { gpuOperator: { values: { nfd: { enabled: false } } } },
    says: [
      [
        "own-discovery",
        "gpuOperator.values.nfd.enabled",
        "is false, so the cluster's own Node Feature Discovery must run on every GPU machine; the operator places no operand on a node without its label; have it set",
      ],
    ],
  },
  {
    name: "a folder that a DaemonSet fills with the driver",
    base: "rtx5070ti",
    change: {
      gpuOperator: { values: { hostPaths: { driverInstallDir: "/var/nvidia-driver" } } },
    },
    says: [
      [
        "driver-folder",
        "gpuOperator.values.hostPaths.driverInstallDir",
        "is /var/nvidia-driver, and no program looks for the driver there; on Talos 1.12 and older the operator's validator does not run; a DaemonSet of this stack writes its marker files, by which pods find the driver; remove this value",
      ],
    ],
  },
  {
    name: "an operator without CDI on Talos 1.13",
    base: "cdi-off-on-1.13",
    says: [
      [
        "operator-without-cdi",
        "gpuOperator.values.cdi.enabled",
        "is false; a pod gets its GPU only from NVIDIA's runtime; write `runtimeClassName: nvidia` in pods of your own",
      ],
    ],
  },
  {
    name: "a strategy without CDI, while CDI is on",
    base: "one-card",
    change: {
      talosVersion: "v1.12.6",
      gpuOperator: {
        values: { devicePlugin: { env: [{ name: "DEVICE_LIST_STRATEGY", value: "envvar" }] } },
      },
    },
    says: [
      [
        "strategy-without-cdi",
        "gpuOperator.values.devicePlugin.env",
        "sets DEVICE_LIST_STRATEGY without CDI, and CDI is on; that is an error to the next operator; to keep CDI off, write `cdi: { enabled: false }` instead",
      ],
    ],
  },
  {
    name: "claims in a cluster of an unknown release",
    base: "dra",
    says: [
      [
        "claims-release",
        "kubernetesVersion",
        "is missing, so which release the cluster has is not known here; claims need Kubernetes 1.34 or newer; write it, or look at `kubectl version`",
      ],
    ],
  },

  // External releases
  {
    name: "an external release of a known kind only",
    base: "rtx5070ti",
    change: { ...withoutRelease, external: { kind: "gpuOperator" } },
    says: [
      [
        "external-release",
        "external",
        "gpu-operator is not this stack's; nothing of it is made, changed or removed here; nothing needs to be done",
      ],
      [
        "external-namespace",
        "external.namespace",
        "no file says it, so gpu-operator is assumed; the doctor has to look for the release in the whole cluster; write the namespace, or name the file",
      ],
      [
        "external-values",
        "external.values",
        "the values of the release are not known; nothing says whether they fit Talos; name its files under external.files",
      ],
    ],
  },
  {
    name: "an external release of a known namespace, some of whose files are missing",
    base: "rtx5070ti",
    change: {
      ...withoutRelease,
      external: {
        namespace: "gpu",
        read: {
          kind: "devicePlugin",
          values: { runtimeClassName: "nvidia", gfd: { enabled: "${GFD}" } },
          missing: [{ kind: "ConfigMap", name: "gpu-values" }],
        },
      },
    },
    says: [
      ["external-release", "external", "in namespace gpu is not this stack's"],
      [
        "external-missing",
        "external.files",
        "ConfigMap gpu-values is not among the files; what it says is neither known nor judged; name it here",
      ],
      [
        "external-version",
        "external.version",
        "which release of the chart it is is not known; whether it has these values is not judged; write it here",
      ],
      [
        "external-filled-in",
        "external.values.gfd.enabled",
        "another tool fills it in; what it comes to is not known here, and not judged; check what the tool writes there",
      ],
    ],
  },
  {
    name: "an external operator whose validator makes links",
    base: "one-card",
    change: {
      ...withoutRelease,
      external: {
        kind: "gpuOperator",
        version: "v26.3.3",
        values: {
          driver: { enabled: false },
          toolkit: { enabled: false },
          hostPaths: { driverInstallDir: "/usr/local" },
        },
      },
    },
    says: [
      [
        "char-device-links",
        "external.values.validator.driver.env",
        "does not set DISABLE_DEV_CHAR_SYMLINK_CREATION to true; where the validator cannot make links in /dev/char, every pod of the operator waits for it; set it, as Talos' documentation does",
      ],
    ],
  },
  {
    name: "a plugin that is taken over without NVIDIA's runtime",
    base: "rtx5070ti",
    change: { gpuOperator: null, devicePlugin: { version: "0.18.2", takeOver: "a", values: {} } },
    says: [
      [
        "plugin-runtime",
        "devicePlugin.values.runtimeClassName",
        "is not said; the plugin then finds the cards only where nvidia is the machine's default runtime; write `runtimeClassName: nvidia`",
      ],
    ],
  },
  {
    name: "a configuration of sharing that the stack does not hold",
    base: "aarhus-h100",
    change: { devicePlugin: { version: "0.19.3", values: { config: { name: "mine" } } } },
    says: [
      [
        "sharing-unread",
        "devicePlugin.values.config",
        "how many units the nodes offer is not known here; the plan counts on one per card or more of nvidia.com/gpu, so no check says whether all requests fit; look at what the nodes offer",
      ],
    ],
  },

  // Servers
  {
    name: "a server that answers every pod",
    base: "rtx5070ti",
    says: [
      [
        "open-server",
        "workloads.ollama",
        "every pod of the cluster can use it, pull models and delete them; it asks for no key; name the namespaces that may under workloads.ollama.allowFrom",
      ],
    ],
  },
  {
    name: "another one that answers every pod",
    base: "rtx5070ti",
    change: { workloads: { ollama: null, comfyui: { active: true } } },
    says: [["open-server", "workloads.comfyui", "can run workflows on it, and see its outputs"]],
  },
  {
    name: "a volume in another workload's namespace",
    base: "rtx5070ti",
    change: {
      machines: { "k8s-worker4": { gpus: [{ model: "RTX 5070 Ti", count: 2 }] } },
      workloads: {
        comfyui: null,
        ollama: { namespace: "ai" },
        vllm: { model: "Qwen/Qwen3-0.6B", namespace: "ai" },
        litellm: {},
      },
    },
    says: [
      [
        "volume-namespace",
        "workloads.vllm",
        "its volume is in namespace ai, which workloads.ollama makes; an update that takes workloads.ollama out deletes the namespace and this volume with it; give workloads.vllm a namespace of its own",
      ],
      [
        "open-server",
        "workloads.vllm",
        "can use it; it asks for no key; give it a key (apiKeySecret), and name the namespaces that may under workloads.vllm.allowFrom",
      ],
      [
        "open-server",
        "workloads.litellm",
        "can use its models; it asks for no key; give it a key (masterKeySecret), or name the namespaces that may under workloads.litellm.allowFrom",
      ],
    ],
  },
  {
    name: "an image whose CUDA is newer than the driver of a data-center card",
    base: "one-card",
    change: {
      talosVersion: "v1.12.6",
      machines: { gpu: { gpus: [{ model: "L40S" }] } },
      gpuOperator: { version: "v25.10.1" },
      workloads: { pods: { train: { image: "nvidia/cuda:13.0.1-base-ubuntu24.04" } } },
    },
    says: [
      [
        "cuda-compat",
        "workloads.pods.train.image",
        "its CUDA 13.0 is newer than the driver of gpu (570.211.01); data-center cards run it where the image has NVIDIA's package cuda-compat, and without it CUDA fails to initialize; make sure that the image has cuda-compat",
      ],
    ],
  },
  {
    name: "an exporter that is newer than the dashboard",
    base: "aarhus-h100",
    change: {
      monitoring: {},
      images: { dcgmExporter: "nvcr.io/nvidia/k8s/dcgm-exporter:4.7.0-4.9.0-distroless" },
    },
    says: [
      [
        "dashboard-metrics",
        "monitoring",
        "the DCGM exporter 4.9.0 has other names and units of its metrics than the dashboard asks for; they changed with 4.9.0, so panels of the dashboard stay empty; take a 4.8 release",
      ],
    ],
  },
  {
    name: "metrics of cards that are claimed",
    base: "dra",
    change: { monitoring: {} },
    says: [
      [
        "claim-metrics",
        "monitoring",
        "metrics of a card name no pod that has it by a claim; the kubelet tells the exporter only of resources of the node; nothing needs to be done",
      ],
    ],
  },

  // Drivers
  {
    name: "a driver that is left to be filled in",
    base: "velaryon",
    change: { driver: null, machines: { velaryon: { driver: {} } } },
    says: [
      [
        "driver-unnamed",
        "machines.velaryon.driver",
        "and the update then stops before it reboots the machine; write what it runs as branch and flavour: `talosctl -n ",
      ],
    ],
  },

  // Plain HTTP
  {
    name: "a Factory and a repository that are asked by plain HTTP",
    base: "rtx5070ti",
    change: {
      factoryUrl: "http://factory.example.org",
      gpuOperator: { repository: "http://charts.example.org" },
    },
    says: [
      [
        "plain-http",
        "factoryUrl",
        "is plain HTTP; an attacker on the network path can have the machines boot another image; use https, which",
      ],
      [
        "plain-http",
        "gpuOperator.repository",
        "an attacker on the network path can change what is installed as administrator of the cluster; use https or oci",
      ],
    ],
  },
];

/** The stack itself. */
export const remarkedStack = ({ base, change = {} }: RemarkedStack): ClusterSpec =>
  merged(validStack(base), change) as ClusterSpec;
