import type { Check } from "./check";

export const machineAddress: Check = {
  id: "machine-address",
  source: "talosctl, --nodes: one Talos API per address",
  find: ({ machines }) => {
    const first = new Map<string, string>();
    return machines.flatMap((machine) => {
      const { address } = machine.spec;
      const field = `${machine.field}.address`;
      const other = first.get(address);
      first.set(address, other ?? machine.name);
      if (/:\/\/|\/|\s/.test(address) || /^[^:]+:\d+$/.test(address)) {
        return [
          {
            field,
            problem: `"${address}" is not an address`,
            why: "the Talos API is asked for a node by it",
            remedy: "write an IP or a host name, without scheme and port",
          },
        ];
      }
      if (other === undefined) return [];
      return [
        {
          field,
          problem: `${address} is the address of ${other} too`,
          why: "both would configure, upgrade and reboot one machine, at the same time",
          remedy: "give each machine its own address",
        },
      ];
    });
  },
};
