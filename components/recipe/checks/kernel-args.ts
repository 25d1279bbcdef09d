import { asText } from "../machine/user-patches";
import { allPatches, type Check, type CheckContext, type Found } from "./check";
import { valueAt } from "../mapping";

/** A parameter of one of NVIDIA's modules, as a module that is built in would take it. */
const nvidiaParameter = /^"?(nvidia(?:[_-]\w+)?)\.(.+)$/s;

/** The first argument that is meant for one of NVIDIA's modules, as a complaint. */
function ofModule(args: readonly string[], fieldOf: (index: number) => string, machine: string): Found {
  const index = args.findIndex((arg) => nvidiaParameter.test(arg));
  if (index < 0) return undefined;
  const arg = args[index]!;
  const [, module = "", parameter = ""] = nvidiaParameter.exec(arg) ?? [];
  return {
    field: fieldOf(index),
    problem: `${module}.${parameter.split("=")[0]} has no effect as a kernel argument`,
    why: "Talos loads NVIDIA's modules with the parameters of the machine's configuration, and does not read the kernel's command line for them",
    remedy: `write it to ${machine}.moduleParameters: \`${module.replaceAll("-", "_")}: ['${arg.startsWith('"') ? parameter.replaceAll('"', "") : parameter}']\``,
  };
}

/** Kernel arguments are single words, and take effect on this Talos release. */
export const kernelArgs: Check = {
  id: "kernel-args",
  source:
    "siderolabs/docs v1.10, boot loader: the schematic's arguments take effect with a UKI (Talos ≥ 1.10, or Secure Boot); siderolabs/extensions, nvidia.conf (blacklist); talos v1.13.9, internal/app/machined/pkg/controllers/runtime/kernel_module_spec.go",
  find: (context) => [ofMachines(context), ofPatches(context)],
};

const ofPatches = (context: CheckContext): Found =>
  allPatches(context).flatMap(({ patch, machines: [machine, ...others] }) => {
    const said = valueAt(patch.config, "machine", "install", "extraKernelArgs");
    const args = Array.isArray(said) ? said.map(asText) : [];
    const of = machine && others.length === 0 ? machine.field : "machineDefaults";
    return ofModule(args, () => patch.field, of);
  });

const ofMachines = ({ spec, machines, release }: CheckContext): Found =>
  machines.flatMap((machine): Found => {
    const args = machine.spec.kernelArgs ?? [];
    const field = `${machine.field}.kernelArgs`;
    const withoutEffect = ofModule(args, (index) => `${field}[${index}]`, machine.field);
    if (withoutEffect) return withoutEffect;
    const broken = args.findIndex((arg) => /\s|^['"#&*!|>%@`=]|: |:$/.test(arg));
    if (broken >= 0)
      return {
        field: `${field}[${broken}]`,
        problem: `"${args[broken]}" is not one argument`,
        why: "the kernel would read it as several, or as something else",
        remedy: "write one argument per entry, without quotes and spaces",
      };
    const platform = args.findIndex((arg) => arg.startsWith("talos.platform="));
    if (platform >= 0)
      return {
        field: `${field}[${platform}]`,
        problem: "names the platform",
        why: "the Image Factory itself adds this argument to the image; with two of them, the machine uses only one",
        remedy: "write it to the machine's platform",
      };
    if (args.length === 0 || !release || release.version.minor >= 10 || machine.spec.secureBoot) return [];
    return {
      field,
      problem: `is set, on Talos ${spec.talosVersion} without Secure Boot`,
      why: "kernel arguments of an image take effect only if the machine boots a UKI (Talos ≥ 1.10, or Secure Boot); here they would be ignored without an error",
      remedy: "take Talos ≥ 1.10, or set machine.install.extraKernelArgs in a patch",
    };
  });
