import { shortHash } from "../short-hash";

/**
 * Greatest length of the beginning of a Job's name: the 63 characters of a label, minus the characters for a hash of
 * the stack and for Pulumi's suffix (components/kubernetes/pods.ts, ownedName).
 */
const longest = 47;

/** Beginning of the name of a machine's smoke test. It has no `.`, unlike the names of some machines. */
const nameOfMachine = (machine: string): string =>
  `gpu-smoke-test-${machine.replaceAll(".", "-")}`.slice(0, longest);

/**
 * Beginnings of the names of all smoke tests, each at most 47 characters long and different for each machine. If
 * several machines would get the same beginning, each gets a hash of its own name at the end. Other beginnings get no
 * hash: a hash would change the name of an existing test, so that the test would run again.
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

/** Name of the smoke test's second container, which requests no card and reports the cards that it sees. */
export const onlookerName = "onlooker";
