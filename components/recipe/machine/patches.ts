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
  /** The machine's containerd settings, as TOML. */
  containerdPart?: string;
  /** Taints that the kubelet sets when it registers its node, e.g. after a rebuild. */
  registerWithTaints?: NodeTaint[];
}

/**
 * The package's own strategic-merge patch of a machine. The patch has the kernel modules under `machine.kernel`, even
 * for Talos 1.14, where this field is deprecated but still works (talos v1.14.0-rc.1,
 * pkg/machinery/config/types/v1alpha1). A Talos provider that is built with Talos 1.13 cannot merge KernelModuleConfig
 * documents. For the same reason the patch uses `machine.files` for containerd (v1alpha1_cri_bridge.go) and
 * `machine.install`.
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
