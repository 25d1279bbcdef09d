/** Kernel arguments out of a text that has several. */
export const splitKernelArgs = (text: string): string[] =>
  text.split(/\s+/).filter((word) => word !== "");

/**
 * A parameter of one of NVIDIA's modules that stands among kernel arguments, as a module that is built in would take it. Talos loads
 * these modules with the parameters of its configuration alone, so it has no effect there (siderolabs/extensions, nvidia.conf; talos
 * v1.13.9, internal/app/machined/pkg/controllers/runtime/kernel_module_spec.go).
 */
export function moduleParameterIn(arg: string): { module: string; parameter: string } | undefined {
  const [, module = "", parameter = ""] = /^"?(nvidia(?:[_-]\w+)?)\.(.+)$/s.exec(arg) ?? [];
  if (module === "") return undefined;
  // The whole argument may be in quotes, as the kernel takes it; a module's parameter has them around its value.
  const [name = "", ...value] = parameter.replaceAll('"', "").split("=");
  const text = value.join("=");
  const whole = arg.startsWith('"') ? `${name}=${/\s/.test(text) ? `"${text}"` : text}` : parameter;
  return { module: module.replaceAll("-", "_"), parameter: whole };
}

/** Arguments that a kernel's command line does not follow, of those that an image brings. */
export function unfollowedArgs(brought: readonly string[], commandLine: string): string[] {
  const running = splitKernelArgs(commandLine);
  const wanted = brought.flatMap(splitKernelArgs);
  return wanted.filter((arg) => {
    // `-x` and `-x=1` take away what Talos brings, and are themselves on no command line (go-procfs v0.1.2, procfs/cmdline.go, AppendAll).
    if (!/^-./.test(arg)) return !running.includes(arg);
    const gone = arg.slice(1);
    const isGone = (word: string): boolean =>
      word === gone || (!gone.includes("=") && word.startsWith(`${gone}=`));
    return running.some((word) => isGone(word) && !wanted.includes(word));
  });
}
