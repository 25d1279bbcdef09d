import { shortHash } from "../short-hash";

/**
 * Characters of a label's 63 that remain before a hash of the stack and Pulumi's own suffix
 * (components/kubernetes/pods.ts, ownedName).
 */
const longest = 47;

/** Names that can be distinguished begin so. A Job's has no `.`, so that it can be a label of its pods. */
const worded = (machine: string): string =>
  `gpu-smoke-test-${machine.replaceAll(".", "-")}`.slice(0, longest);

/**
 * Beginning of the name of each machine's smoke test, at most 47 characters long; no two machines have the same.
 * Machines whose names differ only behind the cut, or in `.` and `-`, get a hash of their name. The others get none:
 * under another name every test of a stack would run again.
 *
 * @param machines Names of the stack's GPU machines.
 * @returns Beginnings by machine.
 */
export function smokeTestNames(machines: string[]): Map<string, string> {
  const seen = new Set<string>();
  const shared = new Set(machines.map(worded).filter((name) => seen.size === seen.add(name).size));
  return new Map(
    machines.map((machine) => {
      const name = worded(machine);
      return [
        machine,
        shared.has(name) ? `${name.slice(0, longest - 7)}-${shortHash(machine, 6)}` : name,
      ];
    }),
  );
}

/** Name of the container of a test that asks for no card, and tells what it sees. */
export const onlookerName = "onlooker";
