import { Document, Scalar, isMap, isSeq } from "yaml";
import { customizationPath } from "./containerd/containerd";
import { remembering } from "../memory";
import type { KernelModule, NodeTaint } from "../types";

/** What our own patch of a machine sets. */
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
  const document = new Document({
    machine: {
      ...(content.installerImage === undefined ? {} : { install: { image: content.installerImage } }),
      ...(content.kernelModules.length > 0 ? { kernel: { modules: content.kernelModules } } : {}),
      ...(Object.keys(content.sysctls).length > 0 ? { sysctls: content.sysctls } : {}),
      ...(content.containerdPart === undefined
        ? {}
        : { files: [{ op: "create", path: customizationPath, permissions: 0o644, content: content.containerdPart }] }),
      ...(content.registerWithTaints === undefined
        ? {}
        : { kubelet: { extraConfig: { registerWithTaints: content.registerWithTaints } } }),
    },
  });
  writePermissionsInOctal(document);
  return document.toString({ lineWidth: 0 });
});

function writePermissionsInOctal(document: Document): void {
  const files = document.getIn(["machine", "files"]);
  for (const file of isSeq(files) ? files.items : []) {
    const permissions = isMap(file) ? file.get("permissions", true) : undefined;
    if (permissions instanceof Scalar) permissions.format = "OCT";
  }
}
