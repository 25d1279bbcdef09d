import { addressRange, shown } from "../rules";
import type { Finding } from "../types";
import type { ClusterSpec, MachineDefaultsSpec, MachineSpec, StackSpec } from "../spec/index";

/** A stack with every machine of its pools, and what could not be made of them. */
export interface Expanded {
  spec: ClusterSpec;
  findings: Finding[];
  /** Fields of machines that were filled in, so that the rest of the machine can be checked. */
  filled: string[];
  /** Pool of each machine that comes from one, by node name. */
  poolOf: Map<string, string>;
}

/** Most machines of a pool: what a Talos cluster has at most is far below. */
const most = 10_000;

/**
 * Makes the machines of pools, and gives every machine what the stack says of all. Pure. Machines of their own keep their place
 * before those of pools; nothing hangs on it.
 */
export function expandStack({ machines = {}, machineDefaults = {}, pools = {}, ...cluster }: StackSpec): Expanded {
  const findings: Finding[] = [];
  const filled: string[] = [];
  const poolOf = new Map<string, string>();
  const finding = (field: string, problem: string, why: string, remedy: string): void =>
    void findings.push({ check: "pools", field, problem, why, remedy });
  const made: [string, MachineSpec][] = Object.entries(machines).map(([name, { address, uuid, ...own }]) => {
    const said = merge(machineDefaults, own);
    const missing = tellMissing(`machines.${name}`, said, findings);
    filled.push(...missing.map((key) => `machines.${name}.${key}`));
    return [name, complete(said, address, uuid)];
  });
  const taken = new Map(Object.keys(machines).map((name) => [name, `machines.${name}`]));
  for (const [pool, { names, addresses, first = 1, ...own }] of Object.entries(pools)) {
    const field = `pools.${pool}`;
    const said = merge(machineDefaults, own);
    const missing = tellMissing(field, said, findings);
    const all = addresses.flatMap((text, index) => addressesOf(text, `${field}.addresses[${index}]`, finding));
    if (all.length === 0 && addresses.length === 0)
      finding(`${field}.addresses`, "is empty", "the pool has no machine", "name addresses, or leave the pool out");
    if (!namesAreMany(names) && all.length > 1) {
      finding(
        `${field}.names`,
        `${shown(names)} has no run of \`#\`, or several`,
        "each machine of the pool needs a name of its own, and its number takes the place of the `#`",
        "write one like `gpu-###`",
      );
      continue;
    }
    for (const [index, address] of all.slice(0, most).entries()) {
      const name = nameOf(names, first + index);
      const other = taken.get(name);
      if (other !== undefined)
        finding(
          `${field}.names`,
          `its machine ${name} has the name of ${other}`,
          "Kubernetes knows a node by its name, so two machines cannot share one",
          "take another pattern, or another `first`",
        );
      else {
        taken.set(name, `${field} (${name})`);
        poolOf.set(name, pool);
        filled.push(...missing.map((key) => `machines.${name}.${key}`));
        made.push([name, complete(said, address)]);
      }
    }
  }
  if (made.length === 0 && findings.length > 0) filled.push("machines"); // why there is none is said
  return { spec: { ...cluster, machines: Object.fromEntries(made) }, findings, filled, poolOf };
}

const needed = ["role", "configuration"] as const;

/** What machines need and neither they nor the stack says of them. */
function tellMissing(field: string, said: MachineDefaultsSpec, findings: Finding[]): string[] {
  const missing = needed.filter((key) => said[key] === undefined);
  for (const key of missing)
    findings.push({
      check: "shape",
      field: `${field}.${key}`,
      problem: "is missing",
      why: "nothing can be planned without it",
      remedy: `add it, here or in machineDefaults: ${key === "role" ? "controlplane or worker" : "owned, adopted or omni"}`,
    });
  return missing;
}

/** A machine; where nobody says its role or owner, with some that let the checks look at the rest. */
function complete(said: MachineDefaultsSpec, address: string, uuid?: string): MachineSpec {
  const { role = "worker", configuration = "adopted" } = said;
  return { ...said, address, role, configuration, ...(uuid === undefined ? {} : { uuid }) };
}

/** Mappings that are taken together key by key. */
const merged = ["labels", "taints", "containerd", "driver", "moduleParameters"] as const;

function merge(further: MachineDefaultsSpec, nearer: MachineDefaultsSpec): MachineDefaultsSpec {
  const together = merged.flatMap((key) =>
    further[key] !== undefined && nearer[key] !== undefined
      ? [[key, { ...further[key], ...nearer[key] }] as const]
      : [],
  );
  return { ...further, ...nearer, ...Object.fromEntries(together) };
}

type Tell = (field: string, problem: string, why: string, remedy: string) => void;

/** The addresses that an entry stands for; none where it is a range that is none. */
function addressesOf(text: string, field: string, tell: Tell): string[] {
  const range = addressRange(text, most);
  if (range === undefined) return [text];
  if (Array.isArray(range)) return range;
  tell(
    field,
    `${shown(text)} ${range.flaw}`,
    range.why,
    "write the first and the last address, e.g. `10.1.0.1-10.1.0.200`",
  );
  return [];
}

const run = /#+/g;
const namesAreMany = (names: string): boolean => names.match(run)?.length === 1;
const nameOf = (names: string, number: number): string =>
  names.replace(run, (place) => String(number).padStart(place.length, "0"));

/**
 * Findings in which what is wrong with several machines alike is told once, in the place of the first.
 *
 * @param names of the machines.
 * @param groupOf what the machines have in common of which the finding is one; undefined where it stands alone.
 * @param told the finding for all of them, given how many there are beside the first.
 */
function toldOnce(
  findings: Finding[],
  names: { has(name: string): boolean },
  groupOf: (finding: Finding) => { group: string; machine: string } | undefined,
  told: (finding: Finding, machine: string, others: number) => Finding,
): Finding[] {
  const alike = new Map<string, { finding: Finding; machine?: string; others: number }>();
  for (const finding of findings) {
    const { group, machine } = groupOf(finding) ?? {};
    // A name may be part of a word: `gpu`.
    // A machine's name may be a word of the message, too, such as `gpu`: so every name is taken out of every message.
    const parts = Object.values(finding).map((part: string) =>
      part.replaceAll(`machines.${machine}.`, "#.").replace(/[\w-]+/g, (word) => (names.has(word) ? "#" : word)),
    );
    const key = machine === undefined ? `alone ${alike.size}` : JSON.stringify([group, ...parts]);
    const first = alike.get(key);
    if (first) first.others++;
    else alike.set(key, { finding, others: 0, ...(machine === undefined ? {} : { machine }) });
  }
  return [...alike.values()].map(({ finding, machine, others }) =>
    machine === undefined ? finding : told(finding, machine, others),
  );
}

/**
 * Findings with what `machineDefaults` says told once, under its name: what is wrong there is wrong with each machine alike.
 *
 * @param raw the stack as it was written, as far as its shape is right.
 */
export function findingsOfDefaults(
  findings: Finding[],
  { machineDefaults = {}, machines = {}, pools = {} }: StackSpec,
  poolOf: Map<string, string>,
): Finding[] {
  if (Object.keys(machineDefaults).length === 0) return findings;
  const names = new Set([...Object.keys(machines), ...poolOf.keys()]);
  const below = (field: string, machine: string): string => field.slice(`machines.${machine}.`.length);
  return toldOnce(
    findings,
    names,
    ({ field }) => {
      const machine = machineOf(field, names);
      if (machine === undefined) return undefined;
      const own: MachineDefaultsSpec = machines[machine] ?? pools[poolOf.get(machine) ?? ""] ?? {};
      return fromDefaults(below(field, machine), machineDefaults, own) ? { group: "", machine } : undefined;
    },
    (finding, machine, others) => ({
      ...finding,
      remedy: finding.remedy.replaceAll(`machines.${machine}.`, "machineDefaults."),
      field: `machineDefaults.${below(finding.field, machine)} (${machine}${others === 0 ? "" : ` and ${others} more`})`,
    }),
  );
}

/** Whether a field below a machine has its value from the defaults. */
function fromDefaults(field: string, defaults: MachineDefaultsSpec, own: MachineDefaultsSpec): boolean {
  const [first = "", below = ""] = field.split(/[.[]/);
  const key = first as keyof MachineDefaultsSpec;
  if (defaults[key] === undefined) return false;
  if (own[key] === undefined) return true;
  const isMerged = (merged as readonly string[]).includes(key);
  const at = (value: unknown): boolean => typeof value === "object" && value !== null && Object.hasOwn(value, below);
  return isMerged && at(defaults[key]) && !at(own[key]);
}

/** Findings with the pools that their machines come from. What is wrong with each machine of a pool alike is said once. */
export function findingsOfPools(findings: Finding[], poolOf: Map<string, string>): Finding[] {
  if (poolOf.size === 0) return findings;
  return toldOnce(
    findings,
    poolOf,
    ({ field }) => {
      const machine = machineOf(field, poolOf);
      return machine === undefined ? undefined : { group: poolOf.get(machine)!, machine };
    },
    (finding, machine, others) => ({
      ...finding,
      field: `${finding.field} (pool ${poolOf.get(machine)!}${others === 0 ? "" : `, and ${others} more of it`})`,
    }),
  );
}

/** The machine of a finding's field, of these names. */
function machineOf(field: string, names: { has(name: string): boolean }): string | undefined {
  const rest = /^machines\.(.+)$/.exec(field)?.[1];
  if (rest === undefined) return undefined;
  // Names may have dots in them: the longest that fits.
  const parts = rest.split(/[.[]/);
  for (let end = parts.length; end > 0; end--) {
    const name = rest.slice(0, parts.slice(0, end).join(".").length);
    if (names.has(name)) return name;
  }
  return undefined;
}
