import { allPatches, type Check } from "./check";
import { customizationPath } from "../machine/containerd/containerd";

const manifests = /^\/etc\/kubernetes\/manifests\//;

/** Files are created below /var only, by an operation that Talos knows. */
export const machineFileCreate: Check = {
  id: "machine-file-create",
  source: "talos v1.13.9, internal/app/machined/pkg/runtime/v1alpha1/v1alpha1_sequencer_tasks.go, WriteUserFiles",
  find: (context) =>
    allPatches(context).flatMap(({ patch }) =>
      patch.files.flatMap((file) => {
        const isFree = file.path.startsWith("/var/") || file.path === customizationPath || manifests.test(file.path);
        if (file.op === "create" && !isFree)
          return {
            field: patch.field,
            problem: `op: create of ${file.path}, which is outside /var`,
            why: 'Talos fails the boot with "create operation not allowed outside of /var", pauses for 35 minutes, reboots, and fails again',
            remedy:
              file.path === "/etc/nvidia-container-runtime/config.toml"
                ? "leave it out: the toolkit's extension brings its own configuration, and no-cgroups is not needed"
                : "write it under /var, or overwrite a file that is there already (op: overwrite)",
          };
        if (["create", "overwrite", "append"].includes(file.op)) return [];
        return {
          field: patch.field,
          problem: `"${file.op}" is not an operation for ${file.path || "a file"}`,
          why: 'Talos fails the boot with "unknown operation for file", pauses for 35 minutes, reboots, and fails again',
          remedy: "write op: create, overwrite or append",
        };
      }),
    ),
};
