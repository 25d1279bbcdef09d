import { didYouMean } from "../rules/suggest";
import type { Check } from "./check";

/** A machine that may be away is a worker, and one that is away may be. */
export const mayBeAway: Check = {
  id: "may-be-away",
  source:
    "components/machine/program/upgrade/control-planes.ts: every member of etcd has to be healthy before a control plane is upgraded",
  find: ({ spec, machines }) => {
    const able = machines.filter((machine) => machine.spec.mayBeAway === true);
    return [
      ...able
        .filter((machine) => machine.spec.role === "controlplane")
        .map(({ field }) => ({
          field: `${field}.mayBeAway`,
          problem: "is true of a control plane",
          why: "its member of etcd is missed as soon as it is away, and no other control plane is upgraded meanwhile",
          remedy: "leave it out, or make the machine a worker",
        })),
      ...(spec.away ?? []).flatMap((name, index) =>
        able.some((machine) => machine.name === name)
          ? []
          : {
              field: `away[${index}]`,
              problem: `${JSON.stringify(name)} is not a machine that may be away`,
              why: "an update leaves alone what it names, and nobody would see that a machine is missed",
              remedy: `${didYouMean(
                name,
                able.map((machine) => machine.name),
              )}set machines.<name>.mayBeAway: true, or take it out`,
            },
      ),
    ];
  },
};
