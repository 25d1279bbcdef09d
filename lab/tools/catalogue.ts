import * as path from "node:path";

import { changes } from "./pulumi-resource-kubernetes";
import type { Modules, NodeToolName, ToolDefinition } from "./definition";

const lab = path.resolve(__dirname, "..");

/** Modules of Kubernetes' own repository, which its `go.mod` replaces by folders that are not in its module. */
const staging =
  "api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap " +
  "code-generator component-base component-helpers controller-manager cri-api cri-client cri-streaming " +
  "csi-translation-lib dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator kube-controller-manager " +
  "kube-proxy kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission sample-apiserver " +
  "sample-cli-plugin sample-controller streaming";
const kubernetes: Modules = {
  require: ["k8s.io/kubernetes v1.36.3", "k8s.io/component-base v0.36.3", "k8s.io/client-go v0.36.3"],
  replace: staging.split(" ").map((name) => `k8s.io/${name} => k8s.io/${name} v0.36.3`),
};

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

const pulumi: Modules = {
  require: ["github.com/pulumi/pulumi/pkg/v3 v3.259.0", "github.com/pulumi/pulumi/sdk/v3 v3.259.0"],
  replace: ["github.com/atotto/clipboard => github.com/tgummerer/clipboard v0.0.0-20241001131231-d02d263e614e"],
};

/** Every tool, in the order in which they are built: what a start needs first comes first. */
export const catalogue: readonly ToolDefinition[] = [
  {
    name: "controlplane",
    folder: path.join(lab, "controlplane"),
    modules: { ...kubernetes, require: [...kubernetes.require, "go.etcd.io/etcd/server/v3 v3.6.8"] },
    package: ".",
    stamps: kubernetesStamps,
  },
  {
    name: "pulumi",
    modules: pulumi,
    package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    // The Automation API refuses a CLI without a version.
    stamps: ["github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.259.0"],
  },
  {
    name: "talosctl",
    modules: { require: ["github.com/siderolabs/talos v1.13.0", "github.com/siderolabs/talos/pkg/machinery v1.13.0"] },
    package: "github.com/siderolabs/talos/cmd/talosctl",
    // Its version is a file inside the module, embedded (siderolabs/talos, pkg/machinery/gendata/data/tag).
    stamps: [],
  },
  {
    name: "helm",
    modules: { require: ["helm.sh/helm/v3 v3.22.0"] },
    package: "helm.sh/helm/v3/cmd/helm",
    stamps: helmStamps,
  },
  {
    name: "pulumi-resource-kubernetes",
    modules: { require: [changes.module] },
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
  modules: { ...pulumi, require: [...pulumi.require, "github.com/pulumi/pulumi-yaml v1.38.1"] },
  package: "github.com/pulumi/pulumi-yaml/cmd/pulumi-language-yaml",
  more: ["./generate-sdk"],
  stamps: ["github.com/pulumi/pulumi-yaml/pkg/version.Version=v1.38.1"],
};

/** Programs of one module, for a real node. */
function nodeTool(
  name: NodeToolName,
  [module, version]: [module: string, version: string],
  [first, ...more]: [string, ...string[]],
  how: Partial<Pick<ToolDefinition, "c" | "tags" | "stamps">> & { also?: Modules } = {},
): ToolDefinition {
  const { also, ...rest } = how;
  const packageOf = (program: string): string => (program === "" ? module : `${module}/${program}`);
  return {
    name,
    modules: { ...also, require: [...new Set([`${module} ${version}`, ...(also?.require ?? [])])] },
    package: packageOf(first),
    more: more.map(packageOf),
    stamps: [],
    ...rest,
  };
}

const toolkit = "github.com/NVIDIA/nvidia-container-toolkit";
const toolkitOf = (name: NodeToolName, version: string): ToolDefinition =>
  nodeTool(
    name,
    [toolkit, `v${version}`],
    ["nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-ctk", "nvidia-cdi-hook"].map(
      (program) => `cmd/${program}`,
    ) as [string],
    { c: "lazy", stamps: [`${toolkit}/internal/info.version=${version}`] },
  );
const discovery = "sigs.k8s.io/node-feature-discovery";
/** As its Makefile does: the machine's folders are where its charts mount them. */
const discoveryOf = (name: NodeToolName, version: string): ToolDefinition =>
  nodeTool(name, [discovery, version], ["cmd/nfd-worker", "cmd/nfd-master", "cmd/nfd-gc"], {
    also: { require: [`${discovery}/api/nfd ${version}`] },
    stamps: [`${discovery}/pkg/version.version=${version}`, `${discovery}/pkg/utils/hostpath.pathPrefix=/host-`],
  });
const containerd = "github.com/containerd/containerd/v2";
const plugin = "github.com/NVIDIA/k8s-device-plugin";

/**
 * The programs of a real node (`--machines node`), at the versions of Talos 1.13.4 but for the toolkit's second release. runc without libseccomp, which needs a C
 * library that Go's registry does not have.
 */
export const nodeCatalogue: readonly ToolDefinition[] = [
  nodeTool("runc", ["github.com/opencontainers/runc", "v1.3.4"], [""], { c: "static", tags: ["netgo", "osusergo"] }),
  nodeTool(
    "cni",
    ["github.com/containernetworking/plugins", "v1.8.0"],
    ["plugins/main/bridge", "plugins/main/loopback", "plugins/ipam/host-local"],
  ),
  nodeTool("containerd", [containerd, "v2.2.3"], ["cmd/containerd", "cmd/containerd-shim-runc-v2", "cmd/ctr"], {
    tags: ["no_btrfs", "no_devmapper", "no_zfs", "no_aufs"],
    stamps: [`${containerd}/version.Version=2.2.3`],
  }),
  nodeTool("kubelet", ["k8s.io/kubernetes", "v1.36.3"], ["cmd/kubelet"], {
    also: kubernetes,
    stamps: kubernetesStamps,
  }),
  nodeTool(
    "nvidia-device-plugin",
    [plugin, "v0.19.3"],
    ["cmd/nvidia-device-plugin", "cmd/config-manager", "cmd/gpu-feature-discovery"],
    {
      c: "lazy",
      also: { require: [], replace: ["k8s.io/mount-utils => k8s.io/mount-utils v0.36.3"] },
      stamps: [`${plugin}/internal/info.version=0.19.3`],
    },
  ),
  // The device plugin's charts bring 0.17.3, the GPU Operator's 0.18: what their manifests call them with differs.
  discoveryOf("node-feature-discovery-v0.17", "v0.17.3"),
  discoveryOf("node-feature-discovery-v0.18", "v0.18.3"),
  // Talos 1.12's and Talos 1.13's: a node takes that of its machine's image, else the nearest.
  toolkitOf("nvidia-toolkit-v1.18", "1.18.2"),
  toolkitOf("nvidia-toolkit-v1.19", "1.19.1"),
];

/** Modules of a Talos release, and the forks that stand in its `go.mod`; `go.sum` says those that the checksum database has not. */
function talosModule(release: string, registry: string, forks: Record<string, string>): Modules {
  const own = ["", "/pkg/machinery"].map((module) => `github.com/siderolabs/talos${module} ${release}`);
  return {
    require: [...own, `github.com/google/go-containerregistry ${registry}`],
    replace: Object.entries(forks).map(([module, fork]) => `${module} => ${fork}`),
    sums: sums.filter((line) => Object.values(forks).includes(line.replace(/(\/go\.mod)? h1:.*/, ""))),
  };
}

const forks = {
  "github.com/mdlayher/ethtool": "github.com/siderolabs/ethtool v0.4.0-sidero",
  "github.com/mdlayher/kobject": "github.com/smira/kobject v0.0.0-20240304111826-49c8d4613389",
};
const wireguard = {
  "golang.zx2c4.com/wireguard/wgctrl": "github.com/siderolabs/wgctrl-go v0.0.0-20251029173431-c4fd5f6a4e72",
};
const before113 = {
  "cloud.google.com/go": "cloud.google.com/go v0.100.2",
  "github.com/coredns/coredns": "github.com/siderolabs/coredns v1.12.54",
  ...forks,
};
const before112 = {
  ...before113,
  "gopkg.in/yaml.v3": "github.com/unix4ever/yaml v0.0.0-20220527175918-f17b0f05cf2c",
  "github.com/insomniacslk/dhcp": "github.com/smira/dhcp v0.0.0-20250407153013-99942baa5d59",
  // Its own v0.5.0 does not build with Go 1.26; this one is v1.13.0's.
  "github.com/siderolabs/go-debug": "github.com/siderolabs/go-debug v0.6.2",
};
const sums = [
  "github.com/siderolabs/coredns v1.14.53 h1:rwWyicwWFcu+i8OV0WT1u2W46J/iIReqzm+pSvEPPWs=",
  "github.com/siderolabs/coredns v1.14.53/go.mod h1:KAGRTpTbhrScGMhiLsgnzo30OgiBBut1Y5XTuG1V+BQ=",
  "github.com/siderolabs/wgctrl-go v0.0.0-20251029173431-c4fd5f6a4e72 h1:Boabco/vhoFVTUlPcLr4B27NnYUq1QMZVgMtPvyaDzk=",
  "github.com/siderolabs/wgctrl-go v0.0.0-20251029173431-c4fd5f6a4e72/go.mod h1:T97yPqesLiNrOYxkwmhMI0ZIlJDm+p0PMR8eRVeR5tQ=",
  "github.com/siderolabs/coredns v1.12.54 h1:TmTrcxDpseGlm4sWzdlYY0Eof7+6erY/0gYoe+OYfUA=",
  "github.com/siderolabs/coredns v1.12.54/go.mod h1:0fWNl9qBEgoWH3YEqyQEwG+Vm2sCMsCLEJ21NG9UWZw=",
  "github.com/smira/dhcp v0.0.0-20250407153013-99942baa5d59 h1:lBQLOP8ZZI6mbePwGX/bqXi3srwhYB/zcwqrnX+JJIc=",
  "github.com/smira/dhcp v0.0.0-20250407153013-99942baa5d59/go.mod h1:VvGYjkZoJyKqlmT1yzakUs4mfKMNB0XdODP0+rdml6k=",
];

/** Modules of the Talos releases that are built. */
export const talosModules: Readonly<Record<string, Modules>> = {
  "v1.13.0": talosModule("v1.13.0", "v0.21.5", {
    "github.com/coredns/coredns": "github.com/siderolabs/coredns v1.14.53",
    ...forks,
    ...wireguard,
  }),
  "v1.12.6": talosModule("v1.12.6", "v0.20.7", {
    ...before113,
    ...wireguard,
    // Go's proxy has no v2.0.26, which it asks for; this one is v1.13.0's.
    "github.com/siderolabs/go-blockdevice/v2": "github.com/siderolabs/go-blockdevice/v2 v2.0.28",
  }),
  "v1.11.5": talosModule("v1.11.5", "v0.20.6", { ...before112, ...wireguard }),
  "v1.11.1": talosModule("v1.11.1", "v0.20.6", before112),
};

/**
 * The programs of a machine that runs real Talos: Talos' own init, machined, and installer, which is the imager by another name,
 * from its Go module, built as its Dockerfile does; what it calls; the kubelet; and the lab's few beside them (`lab/talos`).
 */
export function talosCatalogue(release: string): readonly ToolDefinition[] {
  const talos = "github.com/siderolabs/talos";
  return [
    {
      name: "talos",
      modules: talosModules[release]!,
      package: `${talos}/internal/app/machined`,
      more: [`${talos}/internal/app/init`, `${talos}/cmd/installer`],
      tags: ["tcell_minimal", "grpcnotrace"],
      stamps: ["golang.zx2c4.com/wireguard/ipc.socketDirectory=/system/wireguard-sock"],
    },
    {
      name: "talos-programs",
      folder: path.join(lab, "talos/programs"),
      package: "./preinit",
      more: ["./connect", "./registry", "./service", "./trustd"],
      stamps: [],
    },
    ...nodeCatalogue.filter(({ name }) => ["containerd", "cni", "kubelet"].includes(name)),
  ];
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
