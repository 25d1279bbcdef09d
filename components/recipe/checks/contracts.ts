import { contractMinor, contractOf } from "../facts/contract";
import type { Checks } from "./check";

/** Checks of version contracts: the Talos release for which a machine's configuration is generated. */
export const contractChecks = {
  "contract-pinned": {
    severity: "warning",
    rule: "Every owned machine has a versionContract",
    source: "siderolabs/terraform-provider-talos#401; siderolabs/talos#13885",
    ofFiles: false,
    find: ({ plan: { spec } }) => {
      const unpinned = new Map<string, string[]>();
      for (const [name, machine] of Object.entries(spec.machines)) {
        const { configuration, talosVersion = spec.talosVersion, versionContract } = machine;
        if (configuration !== "owned" || versionContract !== undefined) continue;
        const contract = contractMinor(contractOf({ ...machine, talosVersion }));
        unpinned.set(contract, [...(unpinned.get(contract) ?? []), name]);
      }
      return [...unpinned].map(([contract, names]) => ({
        field: "machineDefaults.versionContract",
        problem: `no versionContract is set for ${names.join(", ")}, whose configuration is generated for Talos ${contract}`,
        why: "at the next minor version of Talos a preview fails until it is set",
        remedy: `write \`versionContract: ${contract}\` under machineDefaults or at the machine, and leave it there`,
      }));
    },
  },
  "contract-owner": {
    severity: "warning",
    rule: "Only an owned machine has a versionContract",
    source: "components/machine/configuration.ts: the owner of a configuration generates it",
    ofFiles: false,
    find: ({ spec }) =>
      Object.entries(spec.machines).map(
        ([name, { configuration, versionContract }]) =>
          configuration !== "owned" &&
          versionContract !== undefined && {
            field: `machines.${name}.versionContract`,
            problem: `has no effect on a machine whose configuration is ${configuration}`,
            why: "another tool generates this machine's configuration",
            remedy: "leave it out",
          },
      ),
  },
} satisfies Checks;
