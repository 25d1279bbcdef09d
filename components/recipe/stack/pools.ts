import { addressRange, type FindingText, shown } from "../rules";
import type { Finding } from "../types";
import type { ClusterSpec, MachineDefaultsSpec, MachineSpec, StackSpec } from "../spec/index";

/**
 * Greatest number of machines in a stack, also in all pools together: Kubernetes supports this number of nodes
 * (kubernetes.io/docs/setup/best-practices/ cluster-large). A line of a stack file may describe millions of machines,
 * and a plan needs a millisecond for each.
 */
const most = 5_000;

/**
 * Turns the pools into machines, and applies the defaults to every machine. Pure. Single machines come before those of
 * pools, but no result depends on this order.
 *
 * @returns the findings; the fields that were filled in so that the checks can run on a machine; and the pool of each
 * machine from a pool, by node name.
 */
export function expandStack({
  machines = {},
  machineDefaults = {},
  pools = {},
  ...cluster
}: StackSpec) {
  const findings: Finding[] = [];
  const filled: string[] = [];
  const poolOf = new Map<string, string>();
  const tell: Tell = (field, fault) => void findings.push({ check: "pools", field, ...fault });
  const made: [string, MachineSpec][] = Object.entries(machines).map(
    ([name, { address, uuid, ...own }]) => {
      const said = merge(machineDefaults, own);
      const missing = tellMissing(`machines.${name}`, said, findings);
      filled.push(...missing.map((key) => `machines.${name}.${key}`));
      return [name, complete(said, address, uuid)];
    },
  );
  const taken = new Map(Object.keys(machines).map((name) => [name, `machines.${name}`]));
  for (const [pool, { names, addresses, first = 1, ...own }] of Object.entries(pools)) {
    const field = `pools.${pool}`;
    const said = merge(machineDefaults, own);
    const missing = tellMissing(field, said, findings);
    const all = addresses.flatMap((text, index) =>
      addressesOf(text, `${field}.addresses[${index}]`, tell),
    );
    if (all.length === 0 && addresses.length === 0)
      tell(`${field}.addresses`, {
        problem: "is empty",
        why: "the pool has no machine",
        remedy: "name addresses, or leave the pool out",
      });
    if (!namesAreMany(names) && all.length > 1) {
      tell(`${field}.names`, {
        problem: `${shown(names)} must have exactly one run of \`#\``,
        why: "each machine's name is the pattern with the machine's number instead of the `#`",
        remedy: "write a pattern such as `gpu-###`",
      });
      continue;
    }
    const room = Math.max(0, most - made.length);
    if (all.length > room)
      tell(`${field}.addresses`, {
        problem: `adds ${all.length} machines to ${made.length} others, but a stack has at most ${most}`,
        why: "Kubernetes supports no larger clusters",
        remedy: "name fewer addresses, or use several clusters",
      });
    for (const [index, address] of all.slice(0, room).entries()) {
      const name = nameOf(names, first + index);
      const other = taken.get(name);
      if (other !== undefined)
        tell(`${field}.names`, {
          problem: `would name a machine ${name}, as ${other} does`,
          why: "Kubernetes knows a node by its name, so two machines cannot share one",
          remedy: "choose another pattern, or another `first`",
        });
      else {
        taken.set(name, `${field} (${name})`);
        poolOf.set(name, pool);
        filled.push(...missing.map((key) => `machines.${name}.${key}`));
        made.push([name, complete(said, address)]);
      }
    }
  }
  if (made.length === 0 && findings.length > 0) filled.push("machines"); // A finding reports the reason.
  const spec: ClusterSpec = { ...cluster, machines: Object.fromEntries(made) };
  return { spec, findings, filled, poolOf };
}

const needed = ["role", "configuration"] as const;

/** Required fields that neither the machines nor the stack sets. */
function tellMissing(field: string, said: MachineDefaultsSpec, findings: Finding[]): string[] {
  const missing = needed.filter((key) => said[key] === undefined);
  for (const key of missing)
    findings.push({
      check: "shape",
      field: `${field}.${key}`,
      problem: "is missing",
      why: "the plan needs it",
      remedy: `add it, here or in machineDefaults: ${key === "role" ? "controlplane or worker" : "owned, adopted or omni"}`,
    });
  return missing;
}

/** A machine; without a role or owner, with defaults that let the checks look at the rest. */
function complete(said: MachineDefaultsSpec, address: string, uuid?: string): MachineSpec {
  const { role = "worker", configuration = "adopted" } = said;
  return { ...said, address, role, configuration, ...(uuid === undefined ? {} : { uuid }) };
}

/** Fields whose mappings are merged key by key. */
const merged = ["labels", "taints", "containerd", "driver", "moduleParameters"] as const;

function merge(further: MachineDefaultsSpec, nearer: MachineDefaultsSpec): MachineDefaultsSpec {
  const together = merged.flatMap((key) =>
    further[key] !== undefined && nearer[key] !== undefined
      ? [[key, { ...further[key], ...nearer[key] }] as const]
      : [],
  );
  return { ...further, ...nearer, ...Object.fromEntries(together) };
}

type Tell = (field: string, fault: FindingText) => void;

/** The addresses of an entry; empty if it is an invalid range. */
function addressesOf(text: string, field: string, tell: Tell): string[] {
  const range = addressRange(text, most);
  if (range === undefined) return [text];
  if (Array.isArray(range)) return range;
  tell(field, {
    problem: `${shown(text)} ${range.flaw}`,
    why: range.why,
    remedy: "write the first and the last address, e.g. `10.1.0.1-10.1.0.200`",
  });
  return [];
}

const run = /#+/g;
const namesAreMany = (names: string): boolean => names.match(run)?.length === 1;
const nameOf = (names: string, number: number): string =>
  names.replace(run, (place) => String(number).padStart(place.length, "0"));

/**
 * Merges equal findings about several machines into one, at the place of the first. A finding about a value of
 * `machineDefaults` gets that field, and a finding about machines of a pool names the pool.
 *
 * @param written the stack before its pools were applied, without parts of a wrong shape.
 */
export function toldOnce(
  findings: Finding[],
  { machineDefaults = {}, machines = {}, pools = {} }: StackSpec,
  poolOf: Map<string, string>,
): Finding[] {
  const names = new Set([...Object.keys(machines), ...poolOf.keys()]);
  const alike = new Map<string, { others: number; told: (others: number) => Finding }>();
  for (const finding of findings) {
    const { field } = finding;
    const machine = machineOf(field, names) ?? "";
    const pool = poolOf.get(machine);
    const below = field.slice(`machines.${machine}.`.length);
    const ofAll =
      machine !== "" &&
      fromDefaults(below, machineDefaults, machines[machine] ?? pools[pool ?? ""] ?? {});
    // A machine's name, such as `gpu`, may also be a word of the message. So the names are removed from all messages
    // before a comparison.
    const nameless = (word: string): string => (names.has(word) ? "#" : word);
    const { check, problem, why, remedy } = finding;
    const nameOfAll = ofAll || pool;
    const key =
      nameOfAll === undefined
        ? `alone ${alike.size}`
        : JSON.stringify([
            nameOfAll,
            ...[check, field, problem, why, remedy].map((part) =>
              part
                .replaceAll(`machines.${machine}.`, "#.")
                .replace(/(?<![\w-])[\w-]+(?:\.[\w-]+)+/g, nameless)
                .replace(/[\w-]+/g, nameless),
            ),
          ]);
    // `machines` has no entry for a machine of a pool, so the findings name the pool.
    const where = ofAll
      ? "machineDefaults"
      : pool === undefined || below === "address"
        ? undefined
        : `pools.${pool}`;
    const told = (others: number): Finding => {
      if (where === undefined)
        return pool === undefined ? finding : { ...finding, field: `${field} (pool ${pool})` };
      const remedy = finding.remedy.replaceAll(`machines.${machine}.`, `${where}.`);
      const rest = others === 0 ? "" : ` and ${others} more`;
      const place = below === "" ? where : `${where}.${below}`;
      return { ...finding, remedy, field: `${place} (${machine}${rest})` };
    };
    const first = alike.get(key);
    if (first) first.others++;
    else alike.set(key, { others: 0, told });
  }
  return [...alike.values()].map(({ others, told }) => told(others));
}

/** Whether the value of a machine's field comes from the defaults. */
function fromDefaults(
  field: string,
  defaults: MachineDefaultsSpec,
  own: MachineDefaultsSpec,
): boolean {
  const [first = "", below = ""] = field.split(/[.[]/);
  const key = first as keyof MachineDefaultsSpec;
  if (defaults[key] === undefined) return false;
  if (own[key] === undefined) return true;
  const isMerged = (merged as readonly string[]).includes(key);
  const at = (value: unknown): boolean =>
    typeof value === "object" && value !== null && Object.hasOwn(value, below);
  return isMerged && at(defaults[key]) && !at(own[key]);
}

/** The machine of a finding's field, of these names. */
function machineOf(field: string, names: Set<string>): string | undefined {
  const rest = /^machines\.(.+)$/.exec(field)?.[1];
  if (rest === undefined) return undefined;
  // Names may contain dots, so the longest matching name counts.
  const parts = rest.split(/[.[]/);
  for (let end = parts.length; end > 0; end--) {
    const name = rest.slice(0, parts.slice(0, end).join(".").length);
    if (names.has(name)) return name;
  }
  return undefined;
}
