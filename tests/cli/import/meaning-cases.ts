import type { Talconfig, TalconfigNode } from "../../../cli/import/talconfig";
import type { ClusterSpec, MachineSpec } from "../../../components/recipe";
import { yaml } from "../../support/yaml";

/** Expected fields of a value, at any depth; null if the field must be missing. */
type ExpectedFields<Value> = {
  [Field in keyof Value]?:
    | (NonNullable<Value[Field]> extends readonly unknown[]
        ? Value[Field]
        : Value[Field] extends object | undefined
          ? ExpectedFields<Value[Field]>
          : Value[Field])
    | null;
};

/**
 * The input that a user may write for a value: any part of it, a number in place of a text, or null in place of a
 * missing value.
 */
type UserInput<Value> = Value extends string
  ? string | number | null
  : Value extends readonly (infer Item)[]
    ? UserInput<Item>[] | null
    : Value extends object
      ? { [Field in keyof Value]?: UserInput<Value[Field]> | null }
      : Value;

/** A talconfig, and the stack that represents its meaning to talhelper. */
export interface MeaningCase {
  name: string;
  /** Nodes, each with its own address. The first is named gpu. Default: one node without further fields. */
  nodes?: UserInput<TalconfigNode>[];
  /** The whole file, if it does not consist of `nodes` and `otherFields`. */
  text?: string;
  /** Further fields of the file. */
  otherFields?: UserInput<Talconfig>;
  /** The card model that the user gives for the node gpu; null is none. Default: RTX 3090. */
  gpu?: string | null;
  /** Expected fields of the stack. */
  stack?: ExpectedFields<ClusterSpec>;
  /** Expected fields of the stack's machine gpu. */
  machine?: ExpectedFields<MachineSpec>;
  /** Each note, as `field problem`. Default: none. */
  notes?: RegExp[];
  /** Findings of the checks on the stack. Default: not compared. */
  checks?: string[];
  /** Pattern of the error that refuses the file. */
  throws?: RegExp;
}

const unknownSchematic = "2222222222222222222222222222222222222222222222222222222222222222";
const installerOfUnknownSchematic = `factory.talos.dev/metal-installer/${unknownSchematic}`;
const rockchipOverlay = { image: "siderolabs/sbc-rockchip", name: "turingrk1" };
const workerSettings = {
  worker: {
    nodeLabels: { a: "role" },
    nodeTaints: { gpu: "true:NoSchedule" },
    kernelModules: [{ name: "nvidia", parameters: ["a=1"] }],
    patches: ["machine: { nodeTaints: { a: ':NoSchedule' } }"],
  },
};
const unsetFields = { patches: null, labels: null, taints: null, extensions: null, platform: null };
const notATalconfig =
  /^\S+: [^\n]+; it is neither talhelper's talconfig\.yaml nor .+; give one of these files[^\n]*$/;

export const meaningCases: MeaningCase[] = [
  {
    name: "a schematic gives the driver, the other extensions and the kernel arguments",
    nodes: [
      {
        schematic: {
          customization: {
            extraKernelArgs: [
              "talos.platform=nocloud",
              "pci=noaer",
              "nvidia-drm.modeset=1",
              '"nvidia.NVreg_RegistryDwords=a=1; b=2"',
            ],
            systemExtensions: {
              officialExtensions: [
                "siderolabs/iscsi-tools",
                "siderolabs/nvidia-container-toolkit-production",
                "siderolabs/nvidia-open-gpu-kernel-modules-production",
              ],
            },
          },
        },
      },
    ],
    stack: { driver: { branch: "production", flavour: "open" } },
    machine: {
      extensions: ["siderolabs/iscsi-tools"],
      kernelArgs: ["pci=noaer"],
      platform: "nocloud",
      moduleParameters: { nvidia_drm: ["modeset=1"], nvidia: ['NVreg_RegistryDwords="a=1; b=2"'] },
    },
    checks: [],
    notes: [
      /^machines\.gpu\.moduleParameters contains nvidia-drm\.modeset=1.*, which have no effect today because they are kernel arguments/,
    ],
  },
  {
    name: "a schematic with an unknown ID gets a note",
    nodes: [{ talosImageURL: installerOfUnknownSchematic }],
    stack: { driver: null },
    notes: [/^machines\.gpu\.extensions .*222222222222…/],
  },
  {
    name: "a file without GPU nodes is refused with a request for --gpu",
    nodes: [{ hostname: "pi" }],
    gpu: null,
    throws: /name the card of a node: --gpu 'pi=MODEL'/,
  },
  {
    name: "a card of a missing node is refused",
    nodes: [{ hostname: "pi" }],
    throws: /--gpu: there is no node gpu; name one of pi/,
  },
  {
    name: "a containerd part with NVIDIA's settings and parameters of NVIDIA's modules become the machine's",
    nodes: [
      {
        kernelModules: [
          { name: "nvidia", parameters: ["NVreg_OpenRmEnableUnsupportedGpus=1 NVreg_A=1"] },
          { name: "nvidia_peermem", parameters: ["a=1"] },
          { name: "dm_thin_pool", parameters: ["a=b"] },
        ],
        patches: [
          'machine: {files: [{op: create, path: /etc/cri/conf.d/20-customization.part, content: "[plugins.\\"io.containerd.cri.v1.runtime\\"]\\n  containerd.runtimes.nvidia.privileged_without_host_devices = true\\n"}]}',
        ],
      },
    ],
    machine: {
      containerd: {
        extra: yaml`
      [plugins."io.containerd.cri.v1.runtime"]
        containerd.runtimes.nvidia.privileged_without_host_devices = true
    `,
      },
      moduleParameters: {
        nvidia: ["NVreg_OpenRmEnableUnsupportedGpus=1", "NVreg_A=1"],
        dm_thin_pool: null,
      },
      patches: [
        yaml`
      machine:
        kernel:
          modules:
            - name: nvidia_peermem
              parameters:
                - a=1
    `,
      ],
    },
    checks: [],
    notes: [/^machines\.gpu\.containerd /],
  },
  // No taint is lost without a note.
  {
    name: "taints that the kubelet registers become the machine's taints",
    nodes: [
      {
        patches: [
          "machine: { kubelet: { extraConfig: { registerWithTaints: [{ key: a, effect: NoExecute }] } } }",
          '[{ op: add, path: /machine/kubelet/extraArgs, value: { register-with-taints: "b=c:NoSchedule" } }]',
        ],
      },
    ],
    machine: { taints: { a: ":NoExecute", b: "c:NoSchedule" } },
    checks: [],
  },
  {
    name: "a cluster template of Omni is refused",
    text: yaml`
      kind: Cluster
      ---
      kind: Workers
    `,
    throws: /nodes: expected array.*talosctl get machineconfig/,
  },
  {
    name: "a file of Terraform is refused",
    text: yaml`
      resource "a" "b" {
        c = 1
      }
    `,
    throws: /expected object.*talosctl get machineconfig/,
  },
  {
    name: "the extensions of fabric manager and GDRCopy become the machine's extensions",
    nodes: [
      {
        schematic: {
          customization: {
            systemExtensions: {
              officialExtensions: [
                "siderolabs/nvidia-fabricmanager-production",
                "siderolabs/nvidia-gdrdrv-device",
                "siderolabs/nvidia-container-toolkit-production",
              ],
            },
          },
        },
      },
    ],
    machine: {
      extensions: ["siderolabs/nvidia-fabricmanager-production", "siderolabs/nvidia-gdrdrv-device"],
    },
  },
  {
    name: "extensions without a branch belong to lts, and the fabric manager's gets the branch",
    nodes: [
      {
        schematic: {
          customization: {
            systemExtensions: {
              officialExtensions: [
                "siderolabs/nonfree-kmod-nvidia",
                "siderolabs/nvidia-fabricmanager",
              ],
            },
          },
        },
      },
    ],
    stack: { driver: { branch: "lts", flavour: "proprietary" } },
    machine: { extensions: ["siderolabs/nvidia-fabricmanager-lts"] },
  },
  {
    name: "nodes with different drivers each have the field driver",
    nodes: [
      {
        schematic: {
          customization: {
            systemExtensions: { officialExtensions: ["siderolabs/nvidia-container-toolkit-lts"] },
          },
        },
      },
      {
        hostname: "b",
        schematic: {
          customization: {
            systemExtensions: {
              officialExtensions: ["siderolabs/nvidia-container-toolkit-production"],
            },
          },
        },
      },
    ],
    stack: {
      driver: null,
      machines: { gpu: { driver: { branch: "lts" } }, b: { driver: { branch: "production" } } },
    },
    notes: [/^machines\.b\.gpus /],
  },
  {
    name: "an installer's name gives platform and Secure Boot",
    nodes: [
      { talosImageURL: `factory.talos.dev/nocloud-installer-secureboot/${unknownSchematic}` },
    ],
    machine: { platform: "nocloud", secureBoot: true },
    notes: [/the content of schematic 2222/],
  },
  {
    name: "an older installer's name gives Secure Boot and no platform",
    nodes: [{ talosImageURL: `factory.talos.dev/installer-secureboot/${unknownSchematic}` }],
    machine: { secureBoot: true, platform: null },
    notes: [/the content of schematic 2222/],
  },
  {
    name: "an installer's name gives a platform of two words",
    nodes: [{ talosImageURL: `factory.talos.dev/digital-ocean-installer/${unknownSchematic}` }],
    machine: { platform: "digital-ocean", secureBoot: null },
    notes: [/the content of schematic 2222/],
  },
  {
    name: "a schematic's overlay becomes the machine's",
    nodes: [{ schematic: { overlay: rockchipOverlay, customization: {} } }],
    machine: { overlay: rockchipOverlay },
  },
  {
    name: "the overlay of a schematic without customization becomes the machine's",
    nodes: [{ schematic: { overlay: rockchipOverlay } }],
    machine: { overlay: rockchipOverlay },
  },
  {
    name: "an incomplete overlay is reported",
    nodes: [{ schematic: { overlay: { name: "rpi" }, customization: {} } }],
    notes: [/overlay/],
  },
  {
    name: "a schematic's META is reported",
    nodes: [{ schematic: { customization: { meta: [] } } }],
    notes: [/customization\.meta/],
  },
  {
    name: "a schematic's boot loader and Secure Boot keys become the machine's customization",
    nodes: [
      {
        schematic: {
          customization: {
            bootloader: "sd-boot",
            secureboot: { includeWellKnownCertificates: true },
          },
        },
      },
    ],
    machine: {
      customization: { bootloader: "sd-boot", secureboot: { includeWellKnownCertificates: true } },
    },
    notes: [],
  },
  {
    name: "an installer from another registry is reported",
    nodes: [{ talosImageURL: `registry.local/metal-installer/${unknownSchematic}` }],
    notes: [/the content of schematic 2222/, /its installer comes from registry\.local/],
  },
  {
    name: "extensions of the install section are reported",
    nodes: [{ patches: ["machine: { install: { extensions: [{ image: a }] } }"] }],
    notes: [/install\.extensions/],
  },
  // talhelper, pkg/config/config.go, ImageFactory: a registry without scheme, and its protocol.
  {
    name: "another Image Factory becomes factoryUrl",
    otherFields: { imageFactory: { registryURL: "factory.local:5000" } },
    stack: { factoryUrl: "https://factory.local:5000" },
  },
  {
    name: "another Image Factory by HTTP becomes factoryUrl",
    otherFields: { imageFactory: { registryURL: "factory.local", protocol: "http" } },
    stack: { factoryUrl: "http://factory.local" },
  },
  {
    name: "the default Image Factory is not written",
    otherFields: { imageFactory: { registryURL: "factory.talos.dev" } },
    stack: { factoryUrl: null },
  },
  {
    name: "a template for the installer's URL is reported",
    otherFields: { imageFactory: { installerURLTmpl: "{{.ID}}" } },
    notes: [/installerURLTmpl/],
  },
  // talhelper, pkg/config/nodeconfigs.go, mergeNodeConfigs: patches are combined unless the node overrides them.
  // Every other setting is taken from one of the two.
  {
    name: "a node's settings replace its role's, and its patches come after the role's",
    nodes: [
      { nodeLabels: { b: "node" }, patches: ["machine: { nodeTaints: { c: ':NoSchedule' } }"] },
    ],
    otherFields: workerSettings,
    machine: {
      labels: { b: "node", a: null },
      taints: { gpu: "true:NoSchedule", a: ":NoSchedule", c: ":NoSchedule" },
      moduleParameters: { nvidia: ["a=1"] },
      patches: null,
    },
  },
  {
    name: "with overridePatches, a node's patches replace its role's",
    nodes: [{ overridePatches: true, patches: ["machine: { nodeTaints: { c: ':NoSchedule' } }"] }],
    otherFields: workerSettings,
    machine: { taints: { gpu: "true:NoSchedule", c: ":NoSchedule", a: null } },
  },
  {
    name: "a node's modules replace its role's",
    nodes: [{ kernelModules: [{ name: "nbd" }] }],
    otherFields: workerSettings,
    machine: { moduleParameters: null },
  },
  // talhelper, pkg/talos/nodeconfig.go, installerURL: reads the node after it was merged with the settings of its
  // role.
  {
    name: "the role's image URL takes precedence over the node's schematic",
    nodes: [
      {
        schematic: {
          customization: { systemExtensions: { officialExtensions: ["siderolabs/zfs"] } },
          overlay: rockchipOverlay,
        },
      },
    ],
    otherFields: {
      worker: { talosImageURL: `factory.talos.dev/nocloud-installer/${unknownSchematic}` },
    },
    machine: { platform: "nocloud", extensions: null, overlay: null },
    notes: [/the content of schematic 222222222222…/],
  },
  {
    name: "a node's label of null is empty, and a taint without a colon is an effect",
    nodes: [{ nodeLabels: { a: null, b: 1 }, nodeTaints: { gpu: "NoSchedule", x: "y:NoExecute" } }],
    machine: { labels: { a: "", b: "1" }, taints: { gpu: ":NoSchedule", x: "y:NoExecute" } },
  },
  {
    name: "a patch's label of null is empty, and a taint without a colon is an effect",
    nodes: [
      {
        patches: [
          'machine: {nodeLabels: {a: , b: 1}, nodeTaints: {gpu: NoSchedule, x: "y:NoExecute"}}',
        ],
      },
    ],
    machine: { labels: { a: "", b: "1" }, taints: { gpu: ":NoSchedule", x: "y:NoExecute" } },
  },
  {
    name: "labels and taints of patches for all nodes take precedence",
    nodes: [{ nodeLabels: { a: "node", b: "node" } }],
    otherFields: { patches: ["machine: {nodeLabels: {a: all}, nodeTaints: {gpu: NoSchedule}}"] },
    stack: { patches: null },
    machine: { labels: { a: "all", b: "node" }, taints: { gpu: ":NoSchedule" } },
  },
  {
    name: "labels and taints with variables of talhelper are reported",
    nodes: [{ nodeLabels: { a: "{{ .X }}", b: "c" }, nodeTaints: { t: "${T}:NoSchedule" } }],
    machine: { labels: { b: "c", a: null }, taints: null },
    notes: [
      /^machines\.gpu\.labels\.a contains a template of talhelper/,
      /^machines\.gpu\.taints\.t contains a variable of talhelper/,
    ],
  },
  {
    name: "YAML merge keys are applied",
    text: yaml`
      x: &x { ipAddress: 10.0.0.1, nodeLabels: { a: b } }
      talosVersion: 1.11.5
      nodes:
        - <<: *x
          hostname: gpu
    `,
    machine: { address: "10.0.0.1", labels: { a: "b" } },
  },
  {
    name: "null values of a node count as not set",
    nodes: [
      {
        patches: null,
        nodeLabels: null,
        nodeTaints: null,
        kernelModules: null,
        schematic: null,
        machineSpec: null,
        talosImageURL: null,
      },
    ],
    machine: unsetFields,
  },
  {
    name: "null values of a role count as not set",
    otherFields: {
      worker: {
        patches: null,
        nodeLabels: null,
        nodeTaints: null,
        kernelModules: null,
        schematic: null,
        machineSpec: null,
        talosImageURL: null,
      },
    },
    machine: unsetFields,
  },
  {
    name: "null values at the top count as not set",
    otherFields: { patches: null, imageFactory: null },
    stack: { patches: null, factoryUrl: null },
    machine: unsetFields,
  },
  {
    name: "null values of a schematic count as not set",
    nodes: [{ schematic: { customization: { extraKernelArgs: null, systemExtensions: null } } }],
    machine: { ...unsetFields, kernelArgs: null },
  },
  {
    name: "two nodes with the same name are refused",
    nodes: [{}, {}],
    throws: /two nodes have the hostname/,
  },
  {
    name: "two nodes with the same address are refused",
    nodes: [{ ipAddress: "10.0.0.1" }, { hostname: "b", ipAddress: "10.0.0.1" }],
    throws: /two nodes have the ipAddress/,
  },
  {
    name: "a node without an address is refused by its field",
    text: "nodes: [{hostname: gpu}]",
    throws: /nodes\.0\.ipAddress: /,
  },
  // Files that are not a talconfig. The error has one line: problem, reason and remedy.
  { name: "an empty file is refused", text: "", throws: notATalconfig },
  {
    name: "a web page is refused",
    text: "<!DOCTYPE html><html><body>Login</body></html>",
    throws: notATalconfig,
  },
  { name: "a list is refused", text: "[]", throws: notATalconfig },
  {
    name: "a template is refused",
    text: yaml`
      nodes:
        {% for node in nodes %}
        - hostname: a
        {% endfor %}
    `,
    throws: /^FILE. is a template/,
  },
  { name: "tabs are refused", text: "nodes:\n\t- hostname: a\n", throws: notATalconfig },
  {
    name: "two documents are refused",
    text: yaml`
      nodes: []
      ---
      nodes: []
    `,
    throws: notATalconfig,
  },
  {
    name: "encrypted nodes are refused",
    text: "nodes: ENC[AES256_GCM,data:abc]\n",
    throws: notATalconfig,
  },
  {
    name: "too many aliases are refused",
    text: yaml`
      a: &a [x, x, x, x, x, x, x, x, x, x]
      b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
      c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
      d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
      nodes: [*d, *d]
    `,
    throws: notATalconfig,
  },
];
