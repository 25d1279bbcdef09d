import { contractMinor, contractOf } from "../facts/contract";
import type { Checks } from "./check";

/**
 * Checks of version contracts. A version contract is the Talos version for which the stack generates a machine's
 * configuration.
 */
export const contractChecks = {
  "contract-pinned": {
    severity: "warning",
    rule: "Every machine with `configuration: owned` sets versionContract",
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
        problem: `is not set for ${names.join(", ")}, whose configuration the stack generates for Talos ${contract}`,
        why: "a preview with the next minor version of Talos fails until versionContract is set",
        remedy: `write \`versionContract: ${contract}\` under machineDefaults or at each machine, and keep this value after upgrades`,
      }));
    },
  },
  "contract-owner": {
    severity: "warning",
    rule: "Only a machine with `configuration: owned` sets versionContract",
    source:
      "components/machine/configuration.ts: the field `configuration` decides which tool generates the configuration",
    ofFiles: false,
    find: ({ spec }) =>
      Object.entries(spec.machines).map(([name, { configuration, versionContract }]) =>
        configuration !== "owned" && versionContract !== undefined
          ? {
              field: `machines.${name}.versionContract`,
              problem: `has no effect on a machine whose configuration is ${configuration}`,
              why: "another tool generates this machine's configuration",
              remedy: "leave it out",
            }
          : undefined,
      ),
  },
} satisfies Checks;
