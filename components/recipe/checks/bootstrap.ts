import { parseTalosVersion } from "../facts/version";
import type { Check, Complaint } from "./check";

/**
 * First minor whose maintenance mode the Talos provider installs from: it asks by a dry run whether the configuration reboots the
 * machine. Before, the answer leaves the mode out, which reads as a reboot; the provider then stages, which that mode refuses
 * (talos v1.12.6, internal/app/maintenance/server.go, ApplyConfiguration; v1.13.0,
 * internal/app/machined/internal/server/v1alpha1/v1alpha1_server.go; terraform-provider-talos v0.11.0,
 * pkg/talos/talos_machine_configuration_apply_resource.go, dryRunNeedsReboot).
 */
const firstInstalled = 13;

/** A stack that makes its cluster has owned machines, and a control plane to begin on. */
export const bootstrap: Check = {
  id: "bootstrap",
  source:
    "siderolabs/docs, getting-started: secrets, configurations, `talosctl bootstrap` on one control plane; and as at `firstInstalled`",
  find: ({ spec, machines }) => {
    if (!spec.bootstrap) return [];
    const found: Complaint[] = machines
      .filter((machine) => machine.spec.configuration !== "owned")
      .map((machine) => ({
        field: `${machine.field}.configuration`,
        problem: `is ${machine.spec.configuration}, in a stack that bootstraps its cluster`,
        why: "a machine in maintenance mode has no configuration that could be added to, and needs a whole one",
        remedy: "make it `configuration: owned`, or leave bootstrap out when the machine runs already",
      }));
    const old = (text: string): boolean => (parseTalosVersion(text)?.minor ?? firstInstalled) < firstInstalled;
    const said = [
      ...(old(spec.talosVersion) ? [{ field: "talosVersion", release: spec.talosVersion }] : []),
      ...machines.flatMap(({ field, spec: { talosVersion } }) =>
        talosVersion !== undefined && talosVersion !== spec.talosVersion && old(talosVersion)
          ? [{ field: `${field}.talosVersion`, release: talosVersion }]
          : [],
      ),
    ];
    for (const { field, release } of said)
      found.push({
        field,
        problem: `is ${release}, in a stack that bootstraps its cluster`,
        why: `the Talos provider cannot install from the maintenance mode of a release before 1.${firstInstalled}: it would stage the first configuration, which that mode refuses`,
        remedy: `boot and install 1.${firstInstalled} or newer; or make the cluster with talosctl, and leave bootstrap out`,
      });
    if (!machines.some((machine) => machine.spec.role === "controlplane")) {
      found.push({
        field: "bootstrap",
        problem: "there is no control plane to bootstrap the cluster on",
        why: "etcd and the Kubernetes API run on control planes",
        remedy: "give a machine `role: controlplane`, or leave bootstrap out when the cluster is there already",
      });
    }
    return found;
  },
};
