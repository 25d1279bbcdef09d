import { Document, Scalar } from "yaml";
import { customizationPath } from "./containerd/containerd";
import { filled } from "../mapping";
import { remembering } from "../memory";
import type { KernelModule, NodeTaint } from "../types";

/** Settings in the package's own patch of a machine. */
export interface PatchContent {
  /** Installer image; undefined if Omni sets it. */
  installerImage?: string;
  kernelModules: KernelModule[];
  sysctls: Record<string, string>;
  /** TOML of the machine's containerd part. */
  containerdPart?: string;
  /** Taints that the kubelet gives its node when it registers, as after a rebuild. */
  registerWithTaints?: NodeTaint[];
}

/**
 * The package's own strategic-merge patch of a machine. Kernel modules are under `machine.kernel` even on Talos 1.14,
 * which still accepts the field: a provider with the machinery of 1.13 cannot merge KernelModuleConfig documents (talos
 * v1.14.0-rc.1, pkg/machinery/config/types/v1alpha1: deprecated, not removed). The same is true of `machine.files` for
 * the containerd part (v1alpha1_cri_bridge.go) and of `machine.install`.
 */
export const ownPatch = remembering((content: PatchContent): string => {
  const {
    installerImage: image,
    kernelModules: modules,
    sysctls,
    containerdPart,
    registerWithTaints,
  } = content;
  const permissions = Object.assign(new Scalar(0o644), { format: "OCT" });
  const part = { op: "create", path: customizationPath, permissions, content: containerdPart };
  const machine = filled({
    install: filled({ image }),
    kernel: filled({ modules }),
    sysctls,
    files: containerdPart === undefined ? [] : [part],
    kubelet: filled({ extraConfig: filled({ registerWithTaints }) }),
  });
  return new Document({ machine }).toString({ lineWidth: 0 });
});
