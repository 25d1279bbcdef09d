import type { Check, Complaint } from "./check";
import { migManagerHangs, migManagerRelease } from "../kubernetes/mig-manager";
import { valueAt } from "../machine/user-patches";

/** The operator's values fit Talos' layout. */
export const operatorValues: Check = {
  id: "operator-values",
  source:
    "gpu-operator v26.7.0, controllers/object_controls.go (toolkit on read-only hosts); nvidia-container-toolkit, CDI; mig-parted#356",
  find: ({ spec, plan }) => {
    const values = spec.gpuOperator?.values;
    const field = (path: string): string => `gpuOperator.values.${path}`;
    const manager = valueAt(values, "migManager", "version");
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
      valueAt(values, "cdi", "enabled") === false &&
        plan.era === "cdi" && {
          field: field("cdi.enabled"),
          problem: "turns CDI off, on Talos ≥ 1.13",
          why: "its toolkit has no other way to bring a card into a container: nvidia-container-cli is gone",
          remedy: "leave it out",
        },
      plan.era === "cdi" &&
        valueAt(values, "hostPaths", "driverInstallDir") !== undefined &&
        valueAt(values, "hostPaths", "driverInstallDir") !== "/usr/local" && {
          field: field("hostPaths.driverInstallDir"),
          problem: "is not /usr/local",
          why: "that is where Talos ≥ 1.13 has the driver: the validator would look elsewhere for ever",
          remedy: "leave it out",
        },
    ];
    return complaints.filter((complaint) => complaint !== false);
  },
};
