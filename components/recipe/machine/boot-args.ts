import type { FieldFinding } from "../rules/finding";
import { splitKernelArgs } from "./kernel-args";
import type { NextImage, RunningImage } from "./losses";
import { readSchematic } from "./schematic";

// Kernel arguments that are not only in the image: GRUB boots machines without UEFI and those installed before Talos 1.10. It uses the
// arguments of the configuration that is active during the installation, unless this configuration sets `grubUseUKICmdline` (talos,
// cmd/installer/cmd/installer/install.go, cmd/installer/pkg/install, Install).

/**
 * Finding for a configuration that Talos' installer refuses. Talos accepts it on an installed machine, since it checks
 * `machine.install` only before the installation (talos v1.13.0, v1alpha1_server.go, modeWrapper, and
 * types/v1alpha1/v1alpha1_validation.go; seen on Talos v1.13.0).
 *
 * @param machine node name.
 */
export function argsConflictFindings(
  machine: string,
  { hasArgsConflict }: RunningImage,
): FieldFinding[] {
  if (!hasArgsConflict) return [];
  return [
    {
      field: `machines.${machine}`,
      problem:
        "the machine's configuration sets both machine.install.extraKernelArgs and machine.install.grubUseUKICmdline",
      why: "Talos' installer refuses this configuration, so the upgrade would fail after the drain",
      remedy: `move the arguments to machines.${machine}.kernelArgs and remove extraKernelArgs (\`talosctl edit machineconfig\`), or set grubUseUKICmdline: false to keep them in the configuration. Neither reboots the machine. Then run again`,
    },
  ];
}

/**
 * Finding for kernel arguments in the next image that the machine's boot loader ignores. The function ignores arguments
 * that the running image already has without effect.
 *
 * @param machine node name.
 */
export function ignoredArgsFindings(
  machine: string,
  { commandLine = "", bootArgs, schematic }: RunningImage,
  next: Pick<NextImage, "kernelArgs">,
): FieldFinding[] {
  if (bootArgs === undefined) return [];
  const previousArgs = schematic === undefined ? [] : (readSchematic(schematic)?.kernelArgs ?? []);
  const knownArgs = new Set([commandLine, ...bootArgs, ...previousArgs].flatMap(splitKernelArgs));
  const args = next.kernelArgs.flatMap(splitKernelArgs).filter((arg) => !knownArgs.has(arg));
  if (args.length === 0) return [];
  const patch = JSON.stringify({ machine: { install: { extraKernelArgs: args } } });
  const inConfiguration = `write the arguments to the machine's configuration: \`talosctl patch machineconfig --patch '${patch}'\``;
  return [
    {
      field: `machines.${machine}.kernelArgs`,
      problem: `the machine boots with GRUB, which ignores the image's arguments, so the kernel would start without ${args.join(" ")}`,
      why: "the machine would reboot, and these arguments would have no effect",
      remedy:
        // The installer refuses a configuration with both.
        bootArgs.length > 0
          ? `${inConfiguration}. The patch does not reboot the machine. Then run the update again`
          : `on Talos 1.12 or newer, configure GRUB to use the image's arguments: \`talosctl patch machineconfig --patch '{"machine":{"install":{"grubUseUKICmdline":true}}}'\`. On an older Talos, ${inConfiguration}. Neither patch reboots the machine. Then run the update again`,
    },
  ];
}
