import * as path from "node:path";

import { changes } from "./pulumi-resource-kubernetes/changes";
import type { NodeToolName, ToolDefinition } from "./definition";
import { helmRelease, pulumiRelease, talosctlRelease } from "./releases";

const lab = path.resolve(__dirname, "..");

/** Kubernetes' release builds stamp both packages (kubernetes/kubernetes, hack/lib/version.sh); v1.36.3 has no commit here. */
const kubernetesStamps = ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"].flatMap((name) => [
  `${name}.gitVersion=v1.36.3`,
  `${name}.gitMajor=1`,
  `${name}.gitMinor=36`,
  `${name}.gitCommit=`,
  `${name}.gitTreeState=clean`,
]);

/**
 * Helm's Makefile stamps its version and the Kubernetes release of the client-go it is built with: `helm template` and
 * `helm lint` take that for the cluster's version where they have none. Without it they would assume v1.20.
 */
const helmStamps = [
  "helm.sh/helm/v3/internal/version.version=v3.22.0",
  "helm.sh/helm/v3/internal/version.gitTreeState=clean",
  ...["helm.sh/helm/v3/pkg/lint/rules", "helm.sh/helm/v3/pkg/chartutil"].flatMap((name) => [
    `${name}.k8sVersionMajor=1`,
    `${name}.k8sVersionMinor=37`,
  ]),
];

/** Every tool, in the order in which they are built: what a start needs first comes first. */
export const catalogue: readonly ToolDefinition[] = [
  { name: "controlplane", folder: path.join(lab, "controlplane"), package: ".", stamps: kubernetesStamps },
  {
    name: "pulumi",
    folder: path.join(lab, "tools/pulumi"),
    package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    // The Automation API refuses a CLI without a version.
    stamps: ["github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.259.0"],
    onPath: { range: ">=3.259.0 <4", args: ["version"] },
    release: pulumiRelease("3.259.0"),
  },
  {
    name: "talosctl",
    folder: path.join(lab, "tools/talosctl"),
    package: "github.com/siderolabs/talos/cmd/talosctl",
    // Its version is a file inside the module, embedded (siderolabs/talos, pkg/machinery/gendata/data/tag).
    stamps: [],
    onPath: { range: "1.13.x", args: ["version", "--client"] },
    release: talosctlRelease("1.13.0"),
  },
  {
    name: "helm",
    folder: path.join(lab, "tools/helm"),
    package: "helm.sh/helm/v3/cmd/helm",
    stamps: helmStamps,
    onPath: { range: "3.x", args: ["version", "--short"] },
    release: helmRelease("3.22.0"),
  },
  {
    name: "pulumi-resource-kubernetes",
    folder: path.join(lab, "tools/pulumi-resource-kubernetes"),
    package: "github.com/pulumi/pulumi-kubernetes/provider/v4/cmd/pulumi-resource-kubernetes",
    // The version of the SDK in the lock file: the engine warns of an older one.
    stamps: ["github.com/pulumi/pulumi-kubernetes/provider/v4/pkg/version.Version=4.34.2"],
    changes,
  },
  { name: "machines", folder: path.join(lab, "machines"), package: ".", stamps: [] },
];

/** What the linker is told besides, by what a tool needs of C. As the projects' own Makefiles do. */
const linked = {
  static: "-extldflags=-static",
  lazy: "-extldflags=-Wl,--unresolved-symbols=ignore-in-object-files,-z,lazy",
};

/**
 * What serves other languages than TypeScript: Pulumi's YAML host, and the generators of SDKs. At the CLI's version, so that most
 * of it is compiled already.
 */
export const languageTool: ToolDefinition = {
  name: "languages",
  folder: path.join(lab, "tools/languages"),
  package: "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
  more: ["./generate-sdk"],
  stamps: ["github.com/pulumi/pulumi-yaml/pkg/version.Version=v1.38.1"],
};

const toolkit = "github.com/NVIDIA/nvidia-container-toolkit/cmd";
const toolkitPrograms = ["nvidia-container-runtime-hook", "nvidia-ctk", "nvidia-cdi-hook"].map(
  (name) => `${toolkit}/${name}`,
);
const toolkitOf = (version: string): Pick<ToolDefinition, "c" | "stamps"> => ({
  c: "lazy",
  stamps: [`github.com/NVIDIA/nvidia-container-toolkit/internal/info.version=${version}`],
});
const plugin = "github.com/NVIDIA/k8s-device-plugin/cmd";
const discovery = "sigs.k8s.io/node-feature-discovery/cmd";
const discoveryPrograms = [`${discovery}/nfd-master`, `${discovery}/nfd-gc`];
/** As its Makefile does: the machine's folders are where its charts mount them. */
const discoveryOf = (version: string): { stamps: string[] } => ({
  stamps: [
    `sigs.k8s.io/node-feature-discovery/pkg/version.version=${version}`,
    "sigs.k8s.io/node-feature-discovery/pkg/utils/hostpath.pathPrefix=/host-",
  ],
});
const cni = "github.com/containernetworking/plugins/plugins";
const containerd = "github.com/containerd/containerd/v2/cmd";

/**
 * The programs of a real node (`--node real`), at the versions of Talos 1.13.4 but for the toolkit's second release. runc without libseccomp, which needs a C
 * library that Go's registry does not have.
 */
export const nodeCatalogue: readonly ToolDefinition[] = [
  nodeTool("runc", "github.com/opencontainers/runc", [], { c: "static", tags: ["netgo", "osusergo"] }),
  nodeTool("cni", `${cni}/main/bridge`, [`${cni}/main/loopback`, `${cni}/ipam/host-local`]),
  nodeTool("containerd", `${containerd}/containerd`, [`${containerd}/containerd-shim-runc-v2`, `${containerd}/ctr`], {
    tags: ["no_btrfs", "no_devmapper", "no_zfs", "no_aufs"],
    stamps: ["github.com/containerd/containerd/v2/version.Version=2.2.3"],
  }),
  nodeTool("kubelet", "k8s.io/kubernetes/cmd/kubelet", [], { stamps: kubernetesStamps }),
  nodeTool(
    "nvidia-device-plugin",
    `${plugin}/nvidia-device-plugin`,
    ["config-manager", "mps-control-daemon", "gpu-feature-discovery"].map((name) => `${plugin}/${name}`),
    { c: "lazy", stamps: ["github.com/NVIDIA/k8s-device-plugin/internal/info.version=0.19.3"] },
  ),
  // The device plugin's charts bring 0.17.3, the GPU Operator's 0.18: what their manifests call them with differs.
  nodeTool("node-feature-discovery-v0.17", `${discovery}/nfd-worker`, discoveryPrograms, discoveryOf("v0.17.3")),
  nodeTool("node-feature-discovery-v0.18", `${discovery}/nfd-worker`, discoveryPrograms, discoveryOf("v0.18.3")),
  // Talos 1.12's and Talos 1.13's: a node takes that of its machine's image, else the nearest.
  nodeTool("nvidia-toolkit-v1.18", `${toolkit}/nvidia-container-runtime`, toolkitPrograms, toolkitOf("1.18.2")),
  nodeTool("nvidia-toolkit-v1.19", `${toolkit}/nvidia-container-runtime`, toolkitPrograms, toolkitOf("1.19.1")),
];

/**
 * The programs of a machine that runs real Talos: Talos' own init, machined, and installer, which is the imager by another name,
 * from its Go module, built as its Dockerfile does; what it calls; the kubelet; and the lab's few beside them (`lab/talos`).
 */
export function talosCatalogue(release: string): readonly ToolDefinition[] {
  const talos = "github.com/siderolabs/talos";
  return [
    {
      name: "talos",
      folder: path.join(lab, "talos", release),
      package: `${talos}/internal/app/machined`,
      more: [`${talos}/internal/app/init`, `${talos}/cmd/installer`],
      tags: ["tcell_minimal", "grpcnotrace"],
      stamps: ["golang.zx2c4.com/wireguard/ipc.socketDirectory=/system/wireguard-sock"],
    },
    {
      name: "talos-programs",
      folder: path.join(lab, "talos/programs"),
      package: "./preinit",
      more: ["./registry", "./service", "./trustd"],
      stamps: [],
    },
    ...nodeCatalogue.filter(({ name }) => ["containerd", "cni", "kubelet"].includes(name)),
  ];
}

function nodeTool(
  name: NodeToolName,
  first: string,
  more: readonly string[],
  how: Partial<Pick<ToolDefinition, "c" | "tags" | "stamps">> = {},
): ToolDefinition {
  return { name, folder: path.join(lab, "tools", name), package: first, more, stamps: [], ...how };
}

/**
 * The arguments of whatever compiles the lab's Go packages. Go keeps what it compiled by these arguments, so everything that shares
 * packages takes the same ones. No program has debugging information in the end (`-s -w`), and compiling it takes a tenth of a build.
 */
export const compileFlags: readonly string[] = ["-trimpath", "-gcflags=all=-dwarf=false"];

/** The arguments of `go build` that decide what comes out. */
export function buildFlags(tool: Pick<ToolDefinition, "stamps" | "c" | "tags">): string[] {
  const stamps = tool.stamps.map((stamp) => `-X ${stamp}`);
  const flags = ["-s", "-w", ...(tool.c === undefined ? [] : [linked[tool.c]]), ...stamps];
  return [
    ...compileFlags,
    "-buildvcs=false",
    ...(tool.tags === undefined ? [] : [`-tags=${tool.tags.join(",")}`]),
    `-ldflags=${flags.join(" ")}`,
  ];
}
