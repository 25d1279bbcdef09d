import { Document, Scalar } from "yaml";
import { customizationPath } from "./containerd/containerd";
import { filled } from "../mapping";
import { remembering } from "../memory";
import type { KernelModule, NodeTaint } from "../types";

/** Settings in our own patch of a machine. */
export interface PatchContent {
  /** Undefined where Omni sets it. */
  installerImage?: string;
  kernelModules: KernelModule[];
  sysctls: Record<string, string>;
  /** TOML of the machine's containerd part. */
  containerdPart?: string;
  /** Taints that the kubelet gives its node when it registers, as after a rebuild. */
  registerWithTaints?: NodeTaint[];
}

/**
 * Our strategic-merge patch of a machine. Kernel modules stay under `machine.kernel` on Talos 1.14 too: its
 * KernelModuleConfig documents cannot be merged by a provider built on machinery 1.13, and 1.14 still accepts the field
 * (talos v1.14.0-rc.1, pkg/machinery/config/types/v1alpha1: deprecated, not removed). So do `machine.files` for the
 * containerd part (v1alpha1_cri_bridge.go) and `machine.install`.
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
