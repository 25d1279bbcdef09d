import { createHash } from "node:crypto";
import * as semver from "semver";
import { parse } from "yaml";
import { cardsOf } from "../../../cli/discover/cards";
import { labelManagers } from "../../../cli/discover/labels";
import { releasesOf } from "../../../cli/discover/releases";
import type { PciDevice } from "../../../components/clients/talos/pci-device";
import type { SeenCluster, SeenMachine } from "../../../cli/discover/seen";
import { readContainerd } from "../../../cli/discover/containerd";
import { renderDiscovered, stackOf } from "../../../cli/discover/stack-of";
import { schematicOf } from "../../../components/recipe";
import { charts } from "../../../components/recipe/facts/data/charts";
import { containerdPart } from "../../../components/recipe/machine/containerd/containerd";
import { expectFields } from "../../support/expect-fields";

/** An observed machine, as the fields that differ from the usual one. */
type MachineRow = Omit<Partial<SeenMachine>, "image"> & {
  /** Extensions and kernel arguments of its image's schematic, or an image of the user's own. */
  image?: { extensions?: string[]; kernelArgs?: string[]; isCustom?: true };
};

/** Some fields of a value; null if the field must be missing. */
type Partly<Value> = Value extends object
  ? { [Field in keyof Value]?: Partly<Value[Field]> | null }
  : Value;

/** An observed cluster, and the stack that `talos-gpu discover` writes for it. */
interface Discovery {
  name: string;
  /** Default of machines: the usual one alone. Default of releases: none. */
  observed: { machines?: MachineRow[]; releases?: SeenCluster["releases"] };
  /** Fields of the stack. */
  stack?: Partly<ReturnType<typeof stackOf>["spec"]>;
  /** The machine gpu-1 of the stack, with all of its fields. */
  wholeMachine?: object;
  /** Patterns of the comments at fields, by field. */
  comments?: Record<string, RegExp>;
  /** A part of any comment. */
  anyComment?: string;
  /** A part that no comment contains. */
  noComment?: string;
  /** Checks with a finding on the stack. Default: none. */
  findings?: string[];
}

const card = (product: string | null, productId: string, subclass = "0x03"): PciDevice => ({
  class_id: subclass,
  vendor_id: "0x10de",
  product_id: productId,
  ...(product === null ? {} : { product }),
});

const machine = ({ image = {}, ...fields }: MachineRow = {}): SeenMachine => ({
  name: "gpu-1",
  address: "192.0.2.31",
  controlPlane: false,
  talosVersion: "v1.12.6",
  image: {
    ...(image.isCustom
      ? {}
      : {
          schematic: schematicOf({
            extensions: image.extensions ?? ["siderolabs/iscsi-tools"],
            kernelArgs: image.kernelArgs ?? ["intel_iommu=on"],
          }).yaml,
        }),
    extensions: {},
    configuredArgs: [],
    platform: "nocloud",
    secureBoot: true,
  },
  devices: [
    card("GB203 [GeForce RTX 5070 Ti]", "0x2c05"),
    { vendor_id: "0x8086", class_id: "0x03", product: "Iris" },
  ],
  labels: {
    rack: "b2",
    "example.org/use": "ai",
    "kubernetes.io/arch": "amd64",
    "nvidia.com/gpu.count": "1",
    "talos-gpu/power-limit": "250w",
  },
  taints: ["gpu=true:NoSchedule", "node.kubernetes.io/unreachable:NoExecute"],
  containerdPart: "",
  ...fields,
});
const discover = ({ machines = [{}], releases = [] }: Discovery["observed"] = {}) =>
  stackOf({ machines: machines.map(machine), releases, unseen: [] });

const operator = {
  chart: "gpu-operator",
  version: "v25.10.1",
  name: "gpu-operator",
  namespace: "gpu",
} as const;
const discoveries: Discovery[] = [
  {
    name: "the stack has a machine's image, card, labels and taints",
    observed: { releases: [operator] },
    stack: {
      talosVersion: "v1.12.6",
      external: { kind: "gpuOperator", version: "v25.10.1", namespace: "gpu" },
    },
    wholeMachine: {
      address: "192.0.2.31",
      role: "worker",
      configuration: "adopted",
      gpus: [{ model: "RTX 5070 Ti" }],
      extensions: ["siderolabs/iscsi-tools"],
      kernelArgs: ["intel_iommu=on"],
      platform: "nocloud",
      secureBoot: true,
      labels: { rack: "b2", "example.org/use": "ai" },
      taints: { gpu: "true:NoSchedule" },
    },
  },
  {
    name: "a custom installer image stays, and the stack lists nothing of its contents",
    observed: {
      machines: [{ image: { isCustom: true }, installer: "ghcr.io/somebody/installer:v1.12.6-2" }],
    },
    stack: {
      machines: {
        "gpu-1": {
          installerImage: "ghcr.io/somebody/installer:v1.12.6-2",
          extensions: null,
          kernelArgs: null,
          platform: null,
          secureBoot: null,
        },
      },
    },
    comments: { "machines.gpu-1": /not from an Image Factory/ },
  },
  {
    name: "an operator that a stack of this package installed becomes the stack's gpuOperator",
    observed: {
      machines: [
        {
          labelManagers: { "nvidia.com/gpu.deploy.operator-validator": ["talos-gpu-0123456789ab"] },
        },
      ],
      releases: [operator],
    },
    stack: { gpuOperator: { version: "v25.10.1" }, external: null },
  },
  {
    name: "an operator that another tool installed becomes external",
    observed: {
      machines: [
        {
          labelManagers: { "nvidia.com/gpu.deploy.operator-validator": ["talos-gpu-0123456789ab"] },
        },
      ],
      releases: [{ ...operator, by: "Flux" }],
    },
    stack: { gpuOperator: null },
    comments: { external: /list the manifests of Flux under files: the HelmRelease/ },
  },
  {
    name: "a machine with Omni's kernel arguments gets configuration: omni, without platform and secureBoot",
    observed: {
      machines: [
        {
          uuid: "919108f7-52d1-4320-9bac-f847db4148a8",
          clusterName: "frank",
          image: {
            extensions: ["siderolabs/zfs"],
            kernelArgs: ["siderolink.api=grpc://192.0.2.2"],
          },
        },
      ],
    },
    stack: {
      clusterName: "frank",
      machines: {
        "gpu-1": {
          configuration: "omni",
          uuid: "919108f7-52d1-4320-9bac-f847db4148a8",
          extensions: ["siderolabs/zfs"],
          platform: null,
          kernelArgs: null,
          secureBoot: null,
        },
      },
    },
  },
  {
    name: "NVIDIA's extensions of a machine with a card become the driver's branch and flavour",
    observed: {
      machines: [
        {
          image: {
            extensions: [
              "siderolabs/nonfree-kmod-nvidia-lts",
              "siderolabs/nvidia-container-toolkit-lts",
              "siderolabs/zfs",
            ],
          },
        },
      ],
    },
    stack: {
      driver: { branch: "lts", flavour: "proprietary" },
      machines: { "gpu-1": { extensions: ["siderolabs/zfs"] } },
    },
    findings: ["module-flavour"],
  },
  // image-factory, internal/profile/profile.go: a name without a branch is that of lts.
  {
    name: "proprietary modules without a branch belong to the branch lts",
    observed: { machines: [{ image: { extensions: ["siderolabs/nonfree-kmod-nvidia"] } }] },
    stack: {
      driver: { branch: "lts", flavour: "proprietary" },
      machines: { "gpu-1": { extensions: null } },
    },
    findings: ["module-flavour"],
  },
  {
    name: "open modules without a branch belong to the branch lts",
    observed: {
      machines: [{ image: { extensions: ["siderolabs/nvidia-open-gpu-kernel-modules"] } }],
    },
    stack: {
      driver: { branch: "lts", flavour: "open" },
      machines: { "gpu-1": { extensions: null } },
    },
  },
  {
    name: "machines with different drivers each have the field driver",
    observed: {
      machines: [
        {
          name: "a",
          address: "192.0.2.1",
          image: { extensions: ["siderolabs/nonfree-kmod-nvidia-lts"] },
        },
        {
          name: "b",
          address: "192.0.2.2",
          image: { extensions: ["siderolabs/nonfree-kmod-nvidia-production"] },
        },
        {},
      ],
    },
    stack: {
      driver: null,
      machines: {
        a: { driver: { branch: "lts" } },
        b: { driver: { branch: "production" } },
        "gpu-1": { driver: null },
      },
    },
    findings: ["module-flavour", "module-flavour"],
  },
  {
    name: "a label that kubectl set goes into the stack",
    observed: {
      machines: [{ labels: { rack: "b2" }, labelManagers: { rack: ["kubectl-label"] } }],
    },
    stack: { machines: { "gpu-1": { labels: { rack: "b2" } } } },
    noComment: "manages the label",
  },
  {
    name: "a label that kubectl applied goes into the stack",
    observed: {
      machines: [
        { labels: { rack: "b2" }, labelManagers: { rack: ["kubectl-client-side-apply"] } },
      ],
    },
    stack: { machines: { "gpu-1": { labels: { rack: "b2" } } } },
    noComment: "manages the label",
  },
  {
    name: "a label that a stack set goes into the stack",
    observed: {
      machines: [{ labels: { rack: "b2" }, labelManagers: { rack: ["talos-gpu-0123456789ab"] } }],
    },
    stack: { machines: { "gpu-1": { labels: { rack: "b2" } } } },
    noComment: "manages the label",
  },
  {
    name: "a label that Talos manages becomes a comment",
    observed: { machines: [{ labels: { rack: "b2" }, labelManagers: { rack: ["Talos"] } }] },
    stack: { machines: { "gpu-1": { labels: null } } },
    comments: {
      "machines.gpu-1": /Talos manages the label rack=b2: write it under labels only if/,
    },
  },
  {
    name: "a label that a controller manages becomes a comment",
    observed: {
      machines: [{ labels: { rack: "b2" }, labelManagers: { rack: ["longhorn-manager"] } }],
    },
    stack: { machines: { "gpu-1": { labels: null } } },
    comments: {
      "machines.gpu-1": /longhorn-manager manages the label rack=b2: write it under labels only if/,
    },
  },
  {
    name: "a label that both Talos and kubectl set goes into the stack",
    observed: {
      machines: [{ labels: { rack: "b2" }, labelManagers: { rack: ["Talos", "kubectl-label"] } }],
    },
    stack: { machines: { "gpu-1": { labels: { rack: "b2" } } } },
  },
  {
    name: "labels without managers go into the stack, except those of upgrade controllers",
    observed: { machines: [{ labels: { rack: "b2", "plan.upgrade.cattle.io/os": "d41d8c" } }] },
    stack: { machines: { "gpu-1": { labels: { rack: "b2", "plan.upgrade.cattle.io/os": null } } } },
  },
  {
    name: "a second taint with the same key becomes a comment",
    observed: { machines: [{ taints: ["gpu=true:NoSchedule", "gpu=true:NoExecute"] }] },
    stack: { machines: { "gpu-1": { taints: { gpu: "true:NoSchedule" } } } },
    comments: { "machines.gpu-1": /the node also has the taint gpu=true:NoExecute/ },
  },
  {
    name: "talosVersion is the newest of the machines, and an older machine gets runningVersion",
    observed: { machines: [{}, { name: "gpu-2", address: "192.0.2.32", talosVersion: "v1.11.5" }] },
    stack: {
      talosVersion: "v1.12.6",
      machines: { "gpu-1": { runningVersion: null }, "gpu-2": { runningVersion: "v1.11.5" } },
    },
  },
  {
    name: "a containerd part with other settings becomes a comment",
    observed: { machines: [{ containerdPart: "[debug]\nlevel = 'debug'\n" }] },
    stack: { machines: { "gpu-1": { containerd: null } } },
    comments: { "machines.gpu-1": /20-customization\.part/ },
  },
  {
    name: "GPUs of an unknown GPU provider are mentioned in a comment",
    observed: { machines: [{ offers: ["nvidia.com/gpu"] }] },
    noComment: "no node offers GPUs yet",
    anyComment:
      "nvidia.com/gpu is already allocatable on gpu-1, but none of NVIDIA's charts is installed",
  },
];

test.each(discoveries)("$name", (discovery) => {
  const { spec, comments, findings } = discover(discovery.observed);
  expectFields(spec, discovery.stack ?? {});
  if (discovery.wholeMachine) expect(spec.machines["gpu-1"]).toEqual(discovery.wholeMachine);
  for (const [field, pattern] of Object.entries(discovery.comments ?? {}))
    expect((comments[field] ?? []).join("\n")).toMatch(pattern);
  const allComments = Object.values(comments).flat().join("\n");
  if (discovery.anyComment) expect(allComments).toContain(discovery.anyComment);
  if (discovery.noComment) expect(allComments).not.toContain(discovery.noComment);
  expect(findings.map(({ check }) => check)).toEqual(discovery.findings ?? []);
});

/** The cards of a machine, the stack's field for them, and the number of notes on them. */
interface CardRow {
  name: string;
  cards: PciDevice[];
  gpus: ReturnType<typeof cardsOf>["gpus"];
  notes: number;
}
const cardRows: CardRow[] = [
  {
    name: "several cards of one model are counted",
    cards: [card("GA102 [GeForce RTX 3090]", "0x2204"), card("GA102 [GeForce RTX 3090]", "0x2204")],
    gpus: [{ model: "RTX 3090", count: 2 }],
    notes: 0,
  },
  {
    name: "a PCI name that means two cards gets a note",
    cards: [card("GA107GL [A2 / A16]", "0x25b6")],
    gpus: [{ model: "A2" }],
    notes: 1,
  },
  {
    name: "a card without a PCI name is recognised by its ID",
    cards: [card(null, "0x2c05")],
    gpus: [{ model: "RTX 5070 Ti" }],
    notes: 0,
  },
  {
    name: "a card with an unknown ID is recognised by its PCI name",
    cards: [card("GA102 [GeForce RTX 3090]", "0x2fff")],
    gpus: [{ model: "RTX 3090" }],
    notes: 0,
  },
  {
    name: "a card with an unknown ID and no PCI name becomes TODO with a note",
    cards: [card(null, "0x2fff")],
    gpus: [{ model: "TODO" }],
    notes: 1,
  },
  {
    name: "an audio device does not count as a card",
    cards: [card("GB203 High Definition Audio", "0x2c05", "0x04")],
    gpus: [],
    notes: 0,
  },
];

test.each(cardRows)("discover's list of cards: $name", ({ cards, gpus, notes }) => {
  const listed = cardsOf(cards);
  expect(listed.gpus).toEqual(gpus);
  expect(listed.notes).toHaveLength(notes);
});

/** A DaemonSet, and the release of NVIDIA's charts to which it belongs, or undefined. */
interface Provider {
  name: string;
  metadata: object;
  /** Default: the device plugin's image. */
  image?: string;
  release: ReturnType<typeof releasesOf>[number] | undefined;
}
const providers: Provider[] = [
  {
    name: "a Helm chart",
    metadata: {
      labels: {
        "helm.sh/chart": "nvidia-device-plugin-0.18.2",
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/instance": "nvdp",
      },
      annotations: { "meta.helm.sh/release-name": "nvdp" },
    },
    release: {
      chart: "nvidia-device-plugin",
      namespace: "kube-system",
      version: "0.18.2",
      name: "nvdp",
    },
  },
  {
    name: "a chart that Flux installed",
    metadata: {
      labels: {
        "helm.sh/chart": "nvidia-device-plugin-0.18.2",
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/instance": "nvdp",
        "helm.toolkit.fluxcd.io/name": "nvdp",
      },
      annotations: { "meta.helm.sh/release-name": "nvdp" },
    },
    release: {
      chart: "nvidia-device-plugin",
      namespace: "kube-system",
      version: "0.18.2",
      name: "nvdp",
      by: "Flux",
    },
  },
  {
    name: "a chart with a label of Argo CD",
    metadata: {
      labels: {
        "helm.sh/chart": "nvidia-device-plugin-0.18.2",
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/instance": "nvdp",
      },
    },
    release: {
      chart: "nvidia-device-plugin",
      namespace: "kube-system",
      version: "0.18.2",
      name: "nvdp",
      by: "Argo CD",
    },
  },
  {
    name: "the chart of the DRA driver",
    metadata: {
      name: "dra-driver-nvidia-gpu-kubelet-plugin",
      labels: {
        "helm.sh/chart": "dra-driver-nvidia-gpu-0.5.0",
        "app.kubernetes.io/managed-by": "Helm",
        "app.kubernetes.io/instance": "dra",
      },
      annotations: { "meta.helm.sh/release-name": "dra" },
    },
    release: {
      chart: "dra-driver-nvidia-gpu",
      namespace: "kube-system",
      version: "0.5.0",
      name: "dra",
    },
  },
  {
    name: "NVIDIA's manifest with an annotation of Argo CD",
    metadata: {
      annotations: { "argocd.argoproj.io/tracking-id": "gpu:apps/DaemonSet:kube-system/nvdp" },
    },
    release: {
      chart: "nvidia-device-plugin",
      namespace: "kube-system",
      version: "0.17.1",
      by: "Argo CD",
    },
  },
  {
    name: "NVIDIA's manifest without Helm",
    metadata: { name: "nvidia-device-plugin-daemonset" },
    release: { chart: "nvidia-device-plugin", namespace: "kube-system", version: "0.17.1" },
  },
  {
    name: "NVIDIA's manifest with an image by digest from a mirror",
    metadata: {},
    image: "mirror.local/k8s-device-plugin@sha256:0123",
    release: { chart: "nvidia-device-plugin", namespace: "kube-system" },
  },
  {
    name: "a DaemonSet of the operator",
    metadata: {
      ownerReferences: [
        { apiVersion: "nvidia.com/v1", kind: "ClusterPolicy", name: "cluster-policy", uid: "1" },
      ],
    },
    release: undefined,
  },
  {
    name: "a DaemonSet of another project",
    metadata: {},
    image: "quay.io/cilium/cilium:v1.18.0",
    release: undefined,
  },
];

const releasesIn = ({ metadata, image = "nvcr.io/nvidia/k8s-device-plugin:v0.17.1" }: Provider) =>
  releasesOf([
    {
      metadata: { namespace: "kube-system", ...metadata },
      spec: { selector: {}, template: { spec: { containers: [{ name: "main", image }] } } },
    },
  ]);

test.each(providers.filter(({ release }) => release !== undefined))(
  "a release is read from $name",
  (provider) => expect(releasesIn(provider)).toEqual([provider.release]),
);

test.each(providers.filter(({ release }) => release === undefined))(
  "no release is read from $name",
  (provider) => expect(releasesIn(provider)).toEqual([]),
);

test("the managers of labels are read from managedFields", () => {
  const fieldsV1 = {
    "f:metadata": { "f:labels": { ".": {}, "f:rack": {}, "f:example.org/use": {} } },
  };
  const managedFields = [
    { manager: "Talos", fieldsV1 },
    { manager: "kubelet" },
    { manager: "kubectl-label", fieldsV1 },
  ];
  const managers = ["Talos", "kubectl-label"];
  expect(labelManagers(managedFields)).toEqual({ rack: managers, "example.org/use": managers });
});

test("containerd's options are recognised in the containerd part that they produce", () => {
  const containerd = {
    nvidiaDefaultRuntime: true,
    baseRuntimeSpec: true,
    cdiSpecDirs: ["/var/cdi/static"],
  };
  const part = containerdPart(containerd, "legacy").toml!;
  const { spec } = discover({ machines: [{ containerdPart: part }] });
  expect(spec.machines["gpu-1"]).toMatchObject({ containerd });
});

describe("containerd's options on Talos 1.14", () => {
  const containerd = { nvidiaDefaultRuntime: true, cdiSpecDirs: ["/var/cdi/static"] };
  const part = containerdPart(containerd, "cdi").toml!;
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
  /** Merges as Talos v1.14.1 does (internal/pkg/toml/merge.go). */
  const mergedConfiguration = (customizations: Record<string, string>): string =>
    [
      `## file /etc/cri/conf.d/00-base.part (sha256:${"a".repeat(64)})`,
      ...Object.entries(customizations).map(
        ([name, text]) => `## in-memory customization "${name}" (sha256:${sha256(text)})`,
      ),
      "",
      "version = 3",
      '[plugins."io.containerd.cri.v1.runtime"]',
      'cdi_spec_dirs = ["/run/cdi", "/var/cdi/static"]',
      '[plugins."io.containerd.cri.v1.runtime".containerd]',
      'default_runtime_name = "nvidia"',
    ].join("\n");
  const discoverWith = (customizations: Record<string, string>) => {
    const mergedContainerd = mergedConfiguration(customizations);
    const discovery = discover({
      machines: [{ talosVersion: "v1.14.1", containerdPart: "", mergedContainerd }],
    });
    return {
      containerd: discovery.spec.machines["gpu-1"]!.containerd,
      comments: discovery.comments["machines.gpu-1"]!.join("\n"),
    };
  };

  test("are also read from the merged configuration, if it has a customization", async () => {
    const mergedText = mergedConfiguration({ customization: part });
    const files: Record<string, string> = { "/etc/cri/conf.d/cri.toml": mergedText };
    const read = (path: string): Promise<string | undefined> => Promise.resolve(files[path]);
    expect(await readContainerd({ read })).toEqual({
      containerdPart: "",
      mergedContainerd: mergedText,
    });
    files["/etc/cri/conf.d/cri.toml"] = mergedConfiguration({});
    expect(await readContainerd({ read })).toEqual({ containerdPart: "" });
  });

  test("are set in the stack without a comment if the customization has only these options", () => {
    const discovery = discoverWith({ customization: part });
    expect(discovery.containerd).toEqual(containerd);
    expect(discovery.comments).not.toContain("containerd");
  });

  test("are set in the stack with a comment if the customization has other settings besides these options", () => {
    const discovery = discoverWith({ customization: `${part}\n[debug]\nlevel = "info"\n` });
    expect(discovery.containerd).toEqual(containerd);
    expect(discovery.comments).toContain("set the same options under containerd here");
  });

  test("are only mentioned in a comment if a document sets them", () => {
    const discovery = discoverWith({ zz: part });
    expect(discovery.containerd).toBeUndefined();
    expect(discovery.comments).toContain(
      "CRICustomizationConfig zz, which the stack does not change",
    );
  });
});

test("without a GPU provider, the stack gets the newest release of the operator", () => {
  const { spec, comments, findings } = discover();
  const [version] = semver.rsort(
    charts.filter(({ chart }) => chart === "gpu-operator").map((chart) => chart.version),
  );
  expect(spec.gpuOperator).toEqual({ version });
  expect(spec.devicePlugin).toBeUndefined();
  expect(findings).toEqual([]);
  expect(Object.values(comments).flat().join()).toContain("no node offers GPUs yet");
});

test("the stack file has the remaining tasks in comments, and is read back as the same machines", () => {
  const discovery = discover(discoveries[0]!.observed);
  const text = renderDiscovered(
    discovery,
    ["machine gpu-2 was not looked at"],
    "https://192.0.2.1:6443",
  );
  const { config } = parse(text) as { config: Record<string, unknown> };
  expect(config["talos-gpu:machines"]).toEqual(discovery.spec.machines);
  expect(text).toContain("# - machine gpu-2 was not looked at");
  expect(text).toMatch(/# runs v1\.12\.6\n/);
  expect(text).toContain("helm -n gpu get values gpu-operator");
});

test.each([
  ["arm64", true, { "kubernetes.io/arch": "arm64" }],
  ["amd64", false, { "kubernetes.io/arch": "amd64" }],
])("a card in an %s machine gets a comment about arm64.nobti: %j", (_, hasComment, labels) => {
  const { comments } = discover({ machines: [{ labels }] });
  expect((comments["machines.gpu-1"] ?? []).join().includes("arm64.nobti")).toBe(hasComment);
});
