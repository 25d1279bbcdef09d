import type { Check, CheckedMachine, Complaint, Found } from "./check";
import { shown } from "../rules";
import { parseTalosVersion } from "../facts/version";

/** A UUID as Omni writes it: the machine's SMBIOS UUID in lower case. */
const uuidForm = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** A cluster's name in Omni. Source: siderolabs/omni, client/pkg/omni/resources/omni/cluster.go (ClusterValidator, validateID). */
const clusterForm = /^[\p{L}\p{Nd}_-]+$/u;

/** What Omni decides, and a stack would say in vain. */
const decidedByOmni = ["platform", "secureBoot", "kernelArgs", "overlay"] as const;

/** A machine of Omni's has what Omni knows it by, and nothing that Omni keeps to itself. */
export const omniMachine: Check = {
  id: "omni-machine",
  source:
    "siderolabs/omni, client/pkg/omni/resources/omni/labels.go (cluster, cluster-machine); internal/backend/grpc/router/talos_backend.go (reading files from Talos 1.12 on); kernel_args.go",
  find: ({ spec, machines }) => {
    const managed = machines.filter((machine) => machine.spec.configuration === "omni");
    const first = managed[0];
    return [
      ...machines.flatMap((machine) => uuidComplaints(machine, machines)),
      ...(first && spec.clusterName === undefined ? [clusterMissing(first)] : []),
      ...(first && spec.clusterName !== undefined && !clusterForm.test(spec.clusterName)
        ? [clusterMisnamed(spec.clusterName)]
        : []),
      ...(first && (parseTalosVersion(spec.talosVersion)?.minor ?? 12) < 12 ? [tooOld(first)] : []),
      ...managed.flatMap((machine) =>
        decidedByOmni
          .filter((field) => machine.spec[field] !== undefined)
          .map((field) => ({
            field: `${machine.field}.${field}`,
            problem: `is set, but ${machine.name} is Omni's`,
            why: "Omni makes the image from what the machine was booted with and from its own KernelArgs, so this would be lost",
            remedy:
              field === "kernelArgs"
                ? `leave it out, and give Omni a KernelArgs resource with the machine's ID`
                : "leave it out",
          })),
      ),
    ];
  },
};

function uuidComplaints({ name, field, spec }: CheckedMachine, machines: CheckedMachine[]): Found {
  const complaint = (problem: string, why: string, remedy: string): Found => ({
    field: `${field}.uuid`,
    problem,
    why,
    remedy,
  });
  if (spec.configuration !== "omni")
    return spec.uuid === undefined
      ? []
      : complaint(
          `is set, but ${name} is ${spec.configuration}`,
          "only Omni knows machines by it, so it would be ignored",
          "leave it out, or make the machine `configuration: omni`",
        );
  const find = "take the ID from `omnictl get machines`, e.g. `ce4d0d52-6c10-bdc9-746c-88aedd67681b`";
  if (spec.uuid === undefined)
    return complaint(
      `is missing, but ${name} is Omni's`,
      "Omni identifies a machine by its UUID; without it, the patch would apply to the whole cluster",
      find,
    );
  if (!uuidForm.test(spec.uuid))
    return complaint(`"${spec.uuid}" is not a UUID in lower case`, "Omni would find no machine by this label", find);
  const other = machines.find((machine) => machine.name !== name && machine.spec.uuid === spec.uuid);
  return other === undefined || other.name > name
    ? []
    : complaint(
        `is also that of ${other.name}`,
        "the patches of two machines would go to one, and its containerd part would be written twice",
        find,
      );
}

function clusterMissing(machine: CheckedMachine): Complaint {
  return {
    field: "clusterName",
    problem: `is missing, but ${machine.name} is Omni's`,
    why: "a patch belongs to a cluster in Omni, and is labelled with its name",
    remedy: "add it, e.g. `frank`, as `omnictl get clusters` names it",
  };
}

function clusterMisnamed(name: string): Complaint {
  return {
    field: "clusterName",
    problem: `${shown(name)} cannot be a cluster of Omni's`,
    why: "Omni takes letters, digits, dashes and underscores alone, so there is no cluster that the patches could belong to",
    remedy: "write it as `omnictl get clusters` names it, e.g. `frank`",
  };
}

function tooOld(machine: CheckedMachine): Complaint {
  return {
    field: "talosVersion",
    problem: `is older than v1.12, and ${machine.name} is Omni's`,
    why: "Omni does not allow reading files of a machine with an older release, so the update could verify neither driver nor configuration",
    remedy: "take v1.12.0 or newer",
  };
}
