import { shortHash } from "../short-hash";

/**
 * Greatest length of a beginning: a label's 63 characters without those for a hash of the stack and for Pulumi's own
 * suffix (components/kubernetes/pods.ts, ownedName).
 */
const longest = 47;

/** Beginning of the name of a machine's smoke test. A Job's name has no `.`, so that it can be a label of its pods. */
const nameOfMachine = (machine: string): string =>
  `gpu-smoke-test-${machine.replaceAll(".", "-")}`.slice(0, longest);

/**
 * Beginnings of the names of all smoke tests, each at most 47 characters long and different for each machine. Machines
 * whose names differ only behind the cut, or in `.` and `-`, get a hash of their name. Other names stay without a hash,
 * because a changed name would run the test again.
 *
 * @param machines Names of the stack's GPU machines.
 * @returns Beginnings by machine.
 */
export function smokeTestNames(machines: string[]): Map<string, string> {
  const names = new Set<string>();
  const shared = new Set(
    machines.map(nameOfMachine).filter((name) => names.size === names.add(name).size),
  );
  return new Map(
    machines.map((machine) => {
      const name = nameOfMachine(machine);
      return [
        machine,
        shared.has(name) ? `${name.slice(0, longest - 7)}-${shortHash(machine, 6)}` : name,
      ];
    }),
  );
}

/** Name of the test's container that requests no card and reports the cards that it sees. */
export const onlookerName = "onlooker";
