import { readSchematic } from "./schematic";
import { splitKernelArgs } from "./kernel-args";
import type { NextImage, RunningImage } from "./losses";
import type { Finding } from "../types";
import { faultOf } from "../rules/fault";
import texts from "./texts.json";

/**
 * Kernel arguments that the stack adds to a machine's image, and that its boot loader would not take from there. GRUB, by which
 * machines without UEFI and those from before Talos 1.10 boot, takes the arguments of the configuration that is in force while the
 * image is installed, unless that says `grubUseUKICmdline` (talos, cmd/installer/cmd/installer/install.go, cmd/installer/pkg/install,
 * Install). What the image has already without effect is no news, and let pass.
 *
 * @param machine node name.
 */
export function unheardArgs(
  machine: string,
  { commandLine = "", bootArgs, schematic }: RunningImage,
  next: Pick<NextImage, "kernelArgs">,
): Omit<Finding, "check">[] {
  if (bootArgs === undefined) return [];
  const before = schematic === undefined ? [] : (readSchematic(schematic)?.kernelArgs ?? []);
  const heard = new Set([commandLine, ...bootArgs, ...before].flatMap(splitKernelArgs));
  const args = next.kernelArgs.flatMap(splitKernelArgs).filter((arg) => !heard.has(arg));
  if (args.length === 0) return [];
  return [{ field: `machines.${machine}.kernelArgs`, ...faultOf(texts.grub, { args: args.join(" ") }) }];
}
