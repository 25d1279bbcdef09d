import type { FieldFinding } from "../rules/finding";
import { type BootArgsContext, remedyForGrub, talosctlOn, thenRunAgain } from "./grub/remedies";
import { splitKernelArgs } from "./kernel-args";
import type { NextImage, RunningImage } from "./losses";
import { readSchematic } from "./schematic";

// Kernel arguments that are not only in the image: GRUB boots machines without UEFI and those installed before Talos
// 1.10. It uses the arguments of the configuration that is active during the installation, unless this configuration
// sets `grubUseUKICmdline` (talos, cmd/installer/cmd/installer/install.go, cmd/installer/pkg/install, Install).

/**
 * Finding for a configuration that Talos' installer refuses. Talos accepts it on an installed machine, since it checks
 * `machine.install` only before the installation (talos v1.13.0, v1alpha1_server.go, modeWrapper, and
 * types/v1alpha1/v1alpha1_validation.go; seen on Talos v1.13.0).
 */
export function argsConflictFindings(
  context: BootArgsContext,
  { hasArgsConflict }: RunningImage,
): FieldFinding[] {
  if (!hasArgsConflict) return [];
  const field = `machines.${context.machine}`;
  return [
    {
      field,
      problem:
        "the machine's configuration sets both machine.install.extraKernelArgs and machine.install.grubUseUKICmdline",
      why: "Talos' installer refuses this configuration, so the upgrade would fail after the drain",
      remedy:
        context.configuration === "owned"
          ? `in the stack's patches, remove extraKernelArgs or set grubUseUKICmdline: false, and first run an update with only this change, which needs no reboot. ${field}.kernelArgs takes the arguments with the next image`
          : `remove extraKernelArgs and list the arguments under ${field}.kernelArgs, or set grubUseUKICmdline: false to keep them in the configuration (\`${talosctlOn(context)} edit machineconfig\`, without a reboot). ${thenRunAgain(context)}`,
    },
  ];
}

/**
 * Finding for kernel arguments in the next image that the machine's boot loader ignores. The function ignores arguments
 * that the running image already has without effect.
 */
export function ignoredArgsFindings(
  context: BootArgsContext,
  { commandLine = "", bootArgs, schematic }: RunningImage,
  next: Pick<NextImage, "kernelArgs">,
): FieldFinding[] {
  if (bootArgs === undefined) return [];
  const previousArgs = schematic === undefined ? [] : (readSchematic(schematic)?.kernelArgs ?? []);
  const knownArgs = new Set([commandLine, ...bootArgs, ...previousArgs].flatMap(splitKernelArgs));
  const args = next.kernelArgs.flatMap(splitKernelArgs).filter((arg) => !knownArgs.has(arg));
  if (args.length === 0) return [];
  return [
    {
      field: `machines.${context.machine}.kernelArgs`,
      problem: `the machine boots with GRUB, which ignores the image's arguments, so the kernel would start without ${args.join(" ")}`,
      why: "the machine would reboot, and these arguments would have no effect",
      remedy: remedyForGrub(context, args, bootArgs.length > 0),
    },
  ];
}
