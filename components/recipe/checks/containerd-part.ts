import type { Check } from "./check";
import { customizationPath } from "../machine/containerd/containerd";

/** No patch writes the file of containerd's part, which this package writes. */
export const containerdPartCheck: Check = {
  id: "containerd-part",
  source:
    'talos, injectCRIConfigPatch: a second item of the path fails with "resource EtcFileSpecs.files.talos.dev already exists"',
  find: ({ machines, clusterPatches }) => [
    ...clusterPatches
      .filter((patch) => patch.files.some((file) => file.path === customizationPath))
      .map((patch) => ({
        field: patch.field,
        problem: `writes ${customizationPath} on every machine`,
        why: "a machine takes one such item: with a second one CRI and kubelet do not start, and the machine reboots every 35 minutes",
        remedy:
          "say it under machineDefaults.containerd or machines.<name>.containerd, which is composed into one part per machine (containerd.extra takes any TOML)",
      })),
    ...machines.flatMap((machine) =>
      machine.patches
        .filter((patch) => patch.files.some((file) => file.path === customizationPath))
        .map((patch) => ({
          field: patch.field,
          problem: `writes ${customizationPath} by hand`,
          why: `a machine takes one such item${machine.recipe.containerdPart === undefined ? ", and whatever is said under containerd makes another" : ", and this package writes it"}: with a second one CRI and kubelet do not start, and the machine reboots every 35 minutes`,
          remedy: `say it under ${machine.field}.containerd (containerd.extra takes any TOML)`,
        })),
    ),
  ],
};
