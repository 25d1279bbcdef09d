import type { Check, Complaint } from "./check";

/** Kernel arguments are single words, and take effect on this Talos release. */
export const kernelArgs: Check = {
  id: "kernel-args",
  source:
    "siderolabs/docs v1.10, boot loader: the schematic's arguments take effect with a UKI (Talos ≥ 1.10, or Secure Boot)",
  find: ({ spec, machines, release }) =>
    machines.flatMap((machine): Complaint[] => {
      const args = machine.spec.kernelArgs ?? [];
      const field = `${machine.field}.kernelArgs`;
      const broken = args.findIndex((arg) => /\s|^['"#&*!|>%@`=]|: |:$/.test(arg));
      if (broken >= 0) {
        return [
          {
            field: `${field}[${broken}]`,
            problem: `"${args[broken]}" is not one argument`,
            why: "the kernel would read it as several, or as something else",
            remedy: "write one argument per entry, without quotes and spaces",
          },
        ];
      }
      const platform = args.findIndex((arg) => arg.startsWith("talos.platform="));
      if (platform >= 0) {
        return [
          {
            field: `${field}[${platform}]`,
            problem: "names the platform",
            why: "the Image Factory itself adds this argument to the image; with two of them, the machine uses only one",
            remedy: "write it to the machine's platform",
          },
        ];
      }
      if (args.length === 0 || !release || release.version.minor >= 10 || machine.spec.secureBoot) return [];
      return [
        {
          field,
          problem: `is set, on Talos ${spec.talosVersion} without Secure Boot`,
          why: "kernel arguments of an image take effect only if the machine boots a UKI (Talos ≥ 1.10, or Secure Boot); here they would be ignored without an error",
          remedy: "take Talos ≥ 1.10, or set machine.install.extraKernelArgs in a patch",
        },
      ];
    }),
};
