import { addressRange, type FindingText, shown } from "../rules";
import type { Finding } from "../types";
import type { ClusterSpec, MachineDefaultsSpec, MachineSpec, StackSpec } from "../spec/index";

/**
 * Greatest number of machines in a stack, including the machines of all pools: Kubernetes supports this number of nodes
 * (kubernetes.io/docs/setup/best-practices/cluster-large). The limit keeps the plan short: a single range of addresses
 * in a stack file may describe millions of machines, and a plan needs about a millisecond for each machine.
 */
const mostMachines = 5_000;

/**
 * Turns the pools into machines, and applies the defaults to every machine. Pure. Single machines come before those of
 * pools, but no result depends on this order.
 *
 * @returns `filled` lists the paths of missing fields. These fields got a default value, so that the checks can run on
 * the machine. `poolOf` maps the node name of a pool's machine to the name of the pool.
 */
export function expandStack({
  machines = {},
  machineDefaults = {},
  pools = {},
  ...cluster
}: StackSpec) {
  const findings: Finding[] = [];
  const filledFields: string[] = [];
  const poolOf = new Map<string, string>();
  const addFinding: AddFinding = (field, finding) =>
    void findings.push({ check: "pools", field, ...finding });
  const machineEntries: [string, MachineSpec][] = Object.entries(machines).map(
    ([name, { address, uuid, ...ownFields }]) => {
      const mergedFields = merge(machineDefaults, ownFields);
      const missing = reportMissing(`machines.${name}`, mergedFields, findings);
      filledFields.push(...missing.map((key) => `machines.${name}.${key}`));
      return [name, complete(mergedFields, address, uuid)];
    },
  );
  const ownerByName = new Map(Object.keys(machines).map((name) => [name, `machines.${name}`]));
  for (const [pool, { names, addresses, first = 1, ...ownFields }] of Object.entries(pools)) {
    const field = `pools.${pool}`;
    const mergedFields = merge(machineDefaults, ownFields);
    const missing = reportMissing(field, mergedFields, findings);
    const poolAddresses = addresses.flatMap((text, index) =>
      addressesOf(text, `${field}.addresses[${index}]`, addFinding),
    );
    if (poolAddresses.length === 0 && addresses.length === 0)
      addFinding(`${field}.addresses`, {
        problem: "is empty",
        why: "the pool has no machine",
        remedy: "name addresses, or leave the pool out",
      });
    if (!namesAreMany(names) && poolAddresses.length > 1) {
      addFinding(`${field}.names`, {
        problem: `${shown(names)} must have exactly one group of \`#\` characters`,
        why: "the machine's number replaces this group in each machine's name",
        remedy: "write a pattern such as `gpu-###`",
      });
      continue;
    }
    const freeCount = Math.max(0, mostMachines - machineEntries.length);
    if (poolAddresses.length > freeCount)
      addFinding(`${field}.addresses`, {
        problem: `adds ${poolAddresses.length} machines to ${machineEntries.length} others, but a stack has at most ${mostMachines}`,
        why: "Kubernetes supports no larger clusters",
        remedy: "name fewer addresses, or use several clusters",
      });
    for (const [index, address] of poolAddresses.slice(0, freeCount).entries()) {
      const name = nameOf(names, first + index);
      const otherOwner = ownerByName.get(name);
      if (otherOwner !== undefined)
        addFinding(`${field}.names`, {
          problem: `would name a machine ${name}, but ${otherOwner} already has this name`,
          why: "Kubernetes knows a node by its name, so two machines cannot share one",
          remedy: "choose another pattern, or another `first`",
        });
      else {
        ownerByName.set(name, `${field} (${name})`);
        poolOf.set(name, pool);
        filledFields.push(...missing.map((key) => `machines.${name}.${key}`));
        machineEntries.push([name, complete(mergedFields, address)]);
      }
    }
  }
  if (machineEntries.length === 0 && findings.length > 0) filledFields.push("machines"); // A finding reports the reason.
  const spec: ClusterSpec = { ...cluster, machines: Object.fromEntries(machineEntries) };
  return { spec, findings, filled: filledFields, poolOf };
}

const needed = ["role", "configuration"] as const;

/**
 * Returns the required fields that are missing from `fields`, the merged fields of a machine or pool and of
 * `machineDefaults`. Adds a finding for each.
 */
function reportMissing(field: string, fields: MachineDefaultsSpec, findings: Finding[]): string[] {
  const missing = needed.filter((key) => fields[key] === undefined);
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

/** The machine with these fields. A missing role or owner gets a default, so that the checks can run on the machine. */
function complete(fields: MachineDefaultsSpec, address: string, uuid?: string): MachineSpec {
  const { role = "worker", configuration = "adopted" } = fields;
  return { ...fields, address, role, configuration, ...(uuid === undefined ? {} : { uuid }) };
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

type AddFinding = (field: string, finding: FindingText) => void;

/** The addresses that an entry of `addresses` stands for; empty if the entry is an invalid range. */
function addressesOf(text: string, field: string, addFinding: AddFinding): string[] {
  const range = addressRange(text, mostMachines);
  if (range === undefined) return [text];
  if (Array.isArray(range)) return range;
  addFinding(field, {
    problem: `${shown(text)} ${range.flaw}`,
    why: range.why,
    remedy: `write the first and the last address of at most ${mostMachines} machines, e.g. \`10.1.0.1-10.1.0.200\``,
  });
  return [];
}

const run = /#+/g;
const namesAreMany = (names: string): boolean => names.match(run)?.length === 1;
const nameOf = (names: string, number: number): string =>
  names.replace(run, (place) => String(number).padStart(place.length, "0"));

/**
 * Merges findings that differ only in their machine into one finding, at the place of the first. The field of a finding
 * about a value in `machineDefaults` is the path in `machineDefaults`. A finding about machines of a pool names the
 * pool.
 *
 * @param written the stack before its pools were applied, without values that do not fit the schema.
 */
export function combineAlike(
  findings: Finding[],
  { machineDefaults = {}, machines = {}, pools = {} }: StackSpec,
  poolOf: Map<string, string>,
): Finding[] {
  const names = new Set([...Object.keys(machines), ...poolOf.keys()]);
  const groups = new Map<
    string,
    { otherCount: number; combined: (otherCount: number) => Finding }
  >();
  for (const finding of findings) {
    const { field } = finding;
    const machine = machineOf(field, names) ?? "";
    const pool = poolOf.get(machine);
    const subField = field.slice(`machines.${machine}.`.length);
    const isFromDefaults =
      machine !== "" &&
      fromDefaults(subField, machineDefaults, machines[machine] ?? pools[pool ?? ""] ?? {});
    // A machine's name, such as `gpu`, may also be a word of the message. So the names are removed from all messages
    // before a comparison.
    const withoutNames = (word: string): string => (names.has(word) ? "#" : word);
    const { check, problem, why, remedy } = finding;
    const group = isFromDefaults || pool;
    const key =
      group === undefined
        ? `alone ${groups.size}`
        : JSON.stringify([
            group,
            ...[check, field, problem, why, remedy].map((part) =>
              part
                .replaceAll(`machines.${machine}.`, "#.")
                .replace(/(?<![\w-])[\w-]+(?:\.[\w-]+)+/g, withoutNames)
                .replace(/[\w-]+/g, withoutNames),
            ),
          ]);
    // `machines` has no entry for a machine of a pool, so the findings name the pool.
    const commonField = isFromDefaults
      ? "machineDefaults"
      : pool === undefined || subField === "address"
        ? undefined
        : `pools.${pool}`;
    const combined = (otherCount: number): Finding => {
      if (commonField === undefined)
        return pool === undefined ? finding : { ...finding, field: `${field} (pool ${pool})` };
      const remedy = finding.remedy.replaceAll(`machines.${machine}.`, `${commonField}.`);
      const othersText = otherCount === 0 ? "" : ` and ${otherCount} more`;
      const fieldOfGroup = subField === "" ? commonField : `${commonField}.${subField}`;
      return { ...finding, remedy, field: `${fieldOfGroup} (${machine}${othersText})` };
    };
    const existing = groups.get(key);
    if (existing) existing.otherCount++;
    else groups.set(key, { otherCount: 0, combined });
  }
  return [...groups.values()].map(({ otherCount, combined }) => combined(otherCount));
}

/** Whether the value of a machine's field comes from `machineDefaults`. */
function fromDefaults(
  field: string,
  defaults: MachineDefaultsSpec,
  ownFields: MachineDefaultsSpec,
): boolean {
  const [first = "", subKey = ""] = field.split(/[.[]/);
  const key = first as keyof MachineDefaultsSpec;
  if (defaults[key] === undefined) return false;
  if (ownFields[key] === undefined) return true;
  const isMerged = (merged as readonly string[]).includes(key);
  const hasSubKey = (value: unknown): boolean =>
    typeof value === "object" && value !== null && Object.hasOwn(value, subKey);
  return isMerged && hasSubKey(defaults[key]) && !hasSubKey(ownFields[key]);
}

/**
 * The machine of a finding's field, e.g. `gpu-1` for `machines.gpu-1.gpus`; undefined if the field belongs to none of
 * these machines.
 */
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
