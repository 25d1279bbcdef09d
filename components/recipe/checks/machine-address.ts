import type { Check } from "./check";
import { canonicalAddress, machineAddress as addressRule } from "../rules";

/** Each machine has an address of its own. */
export const machineAddress: Check = {
  id: "machine-address",
  source: "talosctl, --nodes: one Talos API per address; RFC 1123, RFC 4291, IANA's special-purpose address registries",
  find: ({ machines }) => {
    const first = new Map<string, string>();
    return machines.flatMap((machine) => {
      const { address } = machine.spec;
      const field = `${machine.field}.address`;
      const fault = addressRule(address);
      if (fault) return { field, ...fault };
      const one = canonicalAddress(address);
      const other = first.get(one);
      first.set(one, other ?? machine.name);
      if (other === undefined) return [];
      return {
        field,
        problem: `${address} is the address of ${other} too`,
        why: "both would configure, upgrade and reboot one machine, at the same time",
        remedy: "give each machine its own address",
      };
    });
  },
};
