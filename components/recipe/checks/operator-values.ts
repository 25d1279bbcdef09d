import type { Check, Complaint } from "./check";
import { migManagerHangs, migManagerRelease } from "../kubernetes/mig-manager";
import { valueAt } from "../mapping";

/**
 * Folders that Talos ≥ 1.13 has or where one can be made. Which of them it is makes no difference: the validator finds the link
 * /usr/bin/nvidia-smi first, and then takes the driver of the host, whatever the folder (gpu-operator v26.3.3,
 * cmd/nvidia-validator/main.go, runValidation; siderolabs/extensions v1.13.0, nvidia-pkgs; gpu-operator#2501).
 */
const foldersOfTalos = /^\/(usr\/local|var|run)(\/|$)/;

/** The operator's values fit Talos' layout. */
export const operatorValues: Check = {
  id: "operator-values",
  source:
    "gpu-operator v26.7.0, controllers/object_controls.go (toolkit on read-only hosts); nvidia-container-toolkit, CDI; mig-parted#356",
  find: ({ spec, plan }) => {
    const values = spec.gpuOperator?.values;
    const field = (path: string): string => `gpuOperator.values.${path}`;
    const manager = valueAt(values, "migManager", "version");
    const driverFolder = valueAt(values, "hostPaths", "driverInstallDir");
    const complaints: (Complaint | false)[] = [
      valueAt(values, "toolkit", "enabled") === true && {
        field: field("toolkit.enabled"),
        problem: "installs NVIDIA's toolkit by the operator",
        why: "it edits containerd's configuration on the host, which Talos has read-only, and the toolkit is in the image already",
        remedy: "leave it out",
      },
      spec.sharing?.mig !== undefined &&
        typeof manager === "string" &&
        migManagerHangs(manager) && {
          field: field("migManager.version"),
          problem: `${manager} hangs on Talos`,
          why: "the MIG manager from v0.13 on waits for systemd before it does anything: the cards are never split, and nothing says so",
          remedy: `leave it out (${migManagerRelease} follows)`,
        },
      valueAt(values, "cdi", "enabled") === true &&
        plan.era === "legacy" && {
          field: field("cdi.enabled"),
          problem: "turns CDI on, on Talos ≤ 1.12",
          why: "the CDI specification would name /usr/lib, but the driver's libraries are under /usr/local/glibc: containers get the card without its libraries",
          remedy: "leave it out, or take Talos ≥ 1.13",
        },
      plan.era === "cdi" &&
        typeof driverFolder === "string" &&
        !foldersOfTalos.test(driverFolder) && {
          field: field("hostPaths.driverInstallDir"),
          problem: "is a folder that Talos neither has nor lets a pod make",
          why: "the operator's pods mount it from the host, whose root is read-only, so none of them would start",
          remedy: "write /usr/local, or leave it out",
        },
    ];
    return complaints.filter((complaint) => complaint !== false);
  },
};
