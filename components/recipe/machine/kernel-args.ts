/** The kernel arguments in a text. */
export const splitKernelArgs = (text: string): string[] =>
  text.split(/\s+/).filter((word) => word !== "");

/**
 * The module and the parameter in a kernel argument such as `nvidia.NVreg_…=1`; undefined for other arguments. Such an
 * argument has no effect, because Talos loads these modules only with the parameters in the machine's configuration
 * (siderolabs/extensions, nvidia.conf; talos v1.13.9,
 * internal/app/machined/pkg/controllers/runtime/kernel_module_spec.go).
 */
export function moduleParameterIn(arg: string): { module: string; parameter: string } | undefined {
  const [, module = "", parameter = ""] = /^"?(nvidia(?:[_-]\w+)?)\.(.+)$/s.exec(arg) ?? [];
  if (module === "") return undefined;
  // The kernel accepts quotes around the whole argument; a module's parameter has them around its value.
  const [name = "", ...value] = parameter.replaceAll('"', "").split("=");
  const text = value.join("=");
  const whole = arg.startsWith('"') ? `${name}=${/\s/.test(text) ? `"${text}"` : text}` : parameter;
  return { module: module.replaceAll("-", "_"), parameter: whole };
}

/** Arguments of an image that are not in effect according to the kernel's command line. */
export function argsMissingIn(imageArgs: readonly string[], commandLine: string): string[] {
  const running = splitKernelArgs(commandLine);
  const wantedArgs = imageArgs.flatMap(splitKernelArgs);
  return wantedArgs.filter((arg) => {
    // `-x` and `-x=1` remove arguments of Talos, and never appear on the command line (go-procfs v0.1.2,
    // procfs/cmdline.go, AppendAll).
    if (!/^-./.test(arg)) return !running.includes(arg);
    const removedArg = arg.slice(1);
    const isRemoved = (word: string): boolean =>
      word === removedArg || (!removedArg.includes("=") && word.startsWith(`${removedArg}=`));
    return running.some((word) => isRemoved(word) && !wantedArgs.includes(word));
  });
}
