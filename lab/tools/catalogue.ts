import * as path from "node:path";

import type { Release } from "./release";
import { helmRelease, pulumiRelease, talosctlRelease } from "./releases";

/** A program the lab runs. */
export type ToolName = "pulumi" | "talosctl" | "helm" | "controlplane" | "machines";

/** How a tool is recognised, and how it is built where it is not there. */
export interface ToolDefinition {
  name: ToolName;
  /** Folder of its `go.mod`. */
  folder: string;
  /** What `go build` is asked for: an import path of a pinned dependency, or the folder's own program. */
  package: string;
  /** Variables the linker sets (`-X`): how each project stamps its version in its own release builds. */
  stamps: readonly string[];
  /** How one on PATH is judged. Absent: it is a program of this lab, always built from its sources. */
  onPath?: {
    /** Versions that behave as the lab needs them, as a semver range. */
    range: string;
    /** Arguments that print its version without contacting anything. */
    args: readonly string[];
  };
  /** What its project publishes of the version that is pinned. Absent: it is a program of this lab. */
  release?: Release;
}

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
  { name: "machines", folder: path.join(lab, "machines"), package: ".", stamps: [] },
];

/** The arguments of `go build` that decide what comes out. */
export function buildFlags(tool: Pick<ToolDefinition, "stamps">): string[] {
  const stamps = tool.stamps.map((stamp) => `-X ${stamp}`);
  return ["-trimpath", "-buildvcs=false", `-ldflags=${["-s", "-w", ...stamps].join(" ")}`];
}
