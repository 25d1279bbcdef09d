import { allPatches, type Check } from "./check";

/** Documents that came with Talos 1.14. Source: talos, pkg/machinery/config/types at v1.13.0 and v1.14.0-rc.1. */
const since14 = new Set([
  "BGPInstanceConfig",
  "CRIBaseRuntimeSpecConfig",
  "CRICustomizationConfig",
  "ContainerConfig",
  "DiscoveryIdentityConfig",
  "DiscoveryServiceConfig",
  "EtcFileConfig",
  "FilesystemScrubConfig",
  "FilesystemTrimConfig",
  "HTTPProbeConfig",
  "KernelModuleConfig",
  "KubeNodeConfig",
  "KubeletConfig",
  "LVMLogicalVolumeConfig",
  "LVMVolumeGroupConfig",
  "RAIDArrayConfig",
  "SecurityProfileConfig",
  "SysctlConfig",
  "SysfsConfig",
  "UdevRulesConfig",
  "UnattendedInstallConfig",
  "VethConfig",
]);

export const patchDocument: Check = {
  id: "patch-document",
  source: "pulumi-talos v0.8.1 merges with Talos' machinery v1.13.0, which does not know the documents of 1.14",
  find: (context) =>
    allPatches(context).flatMap(({ patch, machines }) =>
      patch.kinds
        .filter((kind) => since14.has(kind))
        .flatMap((kind) => {
          const isOld = context.release !== undefined && context.release.version.minor < 14;
          const owned = machines
            .filter((machine) => machine.spec.configuration === "owned")
            .map((machine) => machine.name);
          if (!isOld && owned.length === 0) return [];
          return [
            {
              field: patch.field,
              problem: isOld
                ? `is a ${kind}, which Talos ${context.spec.talosVersion} does not have`
                : `is a ${kind}, and ${owned.join(", ")} ${owned.length === 1 ? "is" : "are"} owned`,
              why: isOld
                ? "Talos refuses the whole configuration: the document came with 1.14"
                : "the Talos provider merges patches with the machinery of 1.13 and refuses it: not registered",
              remedy: "write it under machine, e.g. machine.kernel.modules or machine.sysctls, which 1.14 still takes",
            },
          ];
        }),
    ),
};
