import * as fs from "node:fs";
import * as path from "node:path";
import {
  checkCluster,
  findingsOf,
  parseSpec,
  planCluster,
  renderFinding,
} from "../../../components/recipe";
import type { StackSpec } from "../../../components/recipe/spec/index";
import { configurationOf, repository } from "../../../stacks/stack-file";

const operationsPage = fs.readFileSync(path.join(repository, "docs/operations.md"), "utf8");
const fleetText = /^## Fleets$[\s\S]*?```yaml\n([\s\S]*?)```/m.exec(operationsPage)![1]!;
const fleetStack = configurationOf(fleetText, "docs/operations.md") as unknown as StackSpec;

/** The fleet's stack without `upgrade.first`, which names a machine that other pools lack. */
const { first: _first, ...upgrade } = fleetStack.upgrade!;
const stackWithoutFirst = { ...fleetStack, upgrade };

/** The fleet with other pools, and with further changes. */
const stackWithPools = (pools: Record<string, object>, stackFields: object = {}): unknown => ({
  ...stackWithoutFirst,
  ...stackFields,
  pools,
});
const pool = { names: "gpu-#", addresses: ["10.1.0.1-10.1.0.12"] };
const fieldsOf = (stack: unknown): string[] => findingsOf(stack).map(({ field }) => field);

test("a stack of 200 machines and a canary pool has at most 12 lines", () => {
  expect(fleetText.trim().split("\n").length).toBeLessThanOrEqual(12);
  const { spec, findings } = parseSpec(fleetStack);
  expect(findings).toEqual([]);
  expect(checkCluster(spec!)).toEqual([]);
  const names = Object.keys(spec!.machines);
  expect(names).toHaveLength(203);
  expect(spec!.machines["gpu-001"]!.address).toBe("10.1.1.1");
  expect(spec!.machines["gpu-200"]!.address).toBe("10.1.2.100");
  expect(spec).not.toHaveProperty("pools");
});

test("the plan of a pool equals the plan of its machines written one by one", () => {
  const { pools: _pools, machineDefaults, ...otherFields } = stackWithoutFirst;
  const machines = Object.fromEntries(
    Array.from({ length: 12 }, (_, index) => [
      `gpu-${index + 1}`,
      { ...machineDefaults, address: `10.1.0.${index + 1}`, labels: { rack: "a1", row: "2" } },
    ]),
  );
  const stackOfMachines = { ...otherFields, machines };
  const stackOfPool = stackWithPools(
    { gpu: { ...pool, labels: { rack: "a1" } } },
    { machineDefaults: { ...machineDefaults, labels: { rack: "b", row: "2" } } },
  );
  const planOf = (stack: unknown) => planCluster(parseSpec(stack).spec!);
  expect(planOf(stackOfPool)).toEqual(planOf(stackOfMachines));
});

test.each([
  ["10.1.0.1 - 10.1.0.3", ["10.1.0.1", "10.1.0.2", "10.1.0.3"]],
  ["fd00::fffe-fd00::1:1", ["fd00::fffe", "fd00::ffff", "fd00::1:0", "fd00::1:1"]],
  ["fd00:0::0:1-fd00::1", ["fd00::1"]],
])("the range %j contains both of its ends and all addresses between them", (range, addresses) => {
  const { spec } = parseSpec(stackWithPools({ gpu: { names: "n#", addresses: [range] } }));
  expect(Object.values(spec!.machines).map(({ address }) => address)).toEqual(addresses);
});

test("two pools that together have more machines than Kubernetes supports are refused", () => {
  const { findings } = parseSpec(
    stackWithPools({
      one: { names: "one-####", addresses: ["10.1.0.1-10.1.11.184"] },
      two: { names: "two-####", addresses: ["10.2.0.1-10.2.11.184"] },
    }),
  );
  expect(findings.map(renderFinding)).toEqual([
    expect.stringMatching(/^pools\.two\.addresses: adds 3000 machines to 3000 others/),
  ]);
});

test("a pool's machines are numbered from its field first on, across ranges, host names and single addresses", () => {
  const addresses = ["10.1.0.254-10.1.1.1", "gpu-x.example.org", "fd00::1"];
  const { spec } = parseSpec(stackWithPools({ gpu: { names: "n##.lab", addresses, first: 9 } }));
  expect(Object.entries(spec!.machines).map(([name, { address }]) => [name, address])).toEqual([
    ["n09.lab", "10.1.0.254"],
    ["n10.lab", "10.1.0.255"],
    ["n11.lab", "10.1.1.0"],
    ["n12.lab", "10.1.1.1"],
    ["n13.lab", "gpu-x.example.org"],
    ["n14.lab", "fd00::1"],
  ]);
});

describe("a canary pool", () => {
  const machinesOf = (stack: unknown) => {
    const { machines } = planCluster(parseSpec(stack).spec!);
    return Object.fromEntries(machines.map((machine) => [machine.name, machine]));
  };

  test("gets the pool's release and driver, and other machines keep the stack's", () => {
    const machines = machinesOf(fleetStack);
    const machinesOfSecondStack = machinesOf({
      ...fleetStack,
      talosVersion: "v1.12.7",
      driver: { branch: "lts" },
    });
    expect(machines["canary-1"]).toEqual(machinesOfSecondStack["canary-1"]);
    expect(machines["canary-1"]!.driverVersion).not.toBe(machines["gpu-001"]!.driverVersion);
    expect(machines["gpu-001"]).toEqual(
      machinesOf(stackWithPools({ gpu: fleetStack.pools!["gpu"]! }))["gpu-001"],
    );
  });

  test("is checked by the pool's release, and other machines by the stack's", () => {
    const newerExtension = "siderolabs/netbird"; // exists from Talos 1.12 on
    const fieldsWithReleases = (stackVersion: string, canaryVersion: string): string[] =>
      fieldsOf({
        ...stackWithoutFirst,
        talosVersion: stackVersion,
        pools: {
          gpu: pool,
          canary: {
            names: "c-#",
            addresses: ["10.2.0.1"],
            talosVersion: canaryVersion,
            extensions: [newerExtension],
          },
        },
      });
    expect(fieldsWithReleases("v1.11.5", "v1.12.6")).toEqual([]);
    expect(fieldsWithReleases("v1.12.6", "v1.11.5")).toEqual(["pools.canary.extensions[0] (c-1)"]);
  });

  test("is refused if only its release is Talos 1.13 or newer, or if its release is invalid", () => {
    const fieldsWithCanary = (talosVersion: string): string[] =>
      fieldsOf(
        stackWithPools({
          gpu: pool,
          canary: { names: "c-#", addresses: ["10.2.0.1"], talosVersion },
        }),
      );
    expect(fieldsWithCanary("v1.13.0")).toEqual(["pools.canary.talosVersion (c-1)"]);
    expect(fieldsWithCanary("1.12")).toEqual(["pools.canary.talosVersion (c-1)"]);
  });
});

test("a finding at machineDefaults is reported once for several machines whose names have dots", () => {
  const machineDefaults = {
    role: "worker",
    configuration: "omni",
    kernelArgs: ["mitigations=off"],
  };
  const machines = { "a.lan": { address: "10.0.0.1" }, "b.lan": { address: "10.0.0.2" } };
  const fields = fieldsOf({ talosVersion: "v1.12.6", machineDefaults, machines });
  expect(fields.filter((field) => field.includes("kernelArgs"))).toEqual([
    "machineDefaults.kernelArgs (a.lan and 1 more)",
  ]);
});

describe("a finding on a pool", () => {
  test("is reported once for all its machines, with the pool's name", () => {
    const findings = findingsOf(
      stackWithPools({ gpu: { ...pool, extensions: ["siderolabs/iscsi-tool"] } }),
    );
    expect(findings.map(renderFinding)).toEqual([
      expect.stringMatching(
        /^pools\.gpu\.extensions\[0\] \(gpu-1 and 11 more\): there is no official extension/,
      ),
    ]);
  });

  test("has a remedy that changes the pool's field", () => {
    const findings = findingsOf(
      stackWithPools({
        gpu: { ...pool, kernelArgs: ['nvidia.NVreg_RegistryDwords="a=1 b=2"'] },
      }),
    );
    expect(findings.map(renderFinding)).toEqual([
      expect.stringMatching(/write it to pools\.gpu\.moduleParameters:/),
    ]);
  });

  test.each([
    ["names that are all the same", { gpu: { ...pool, names: "gpu" } }, ["pools.gpu.names"]],
    [
      "a range whose end is before its start",
      { gpu: { ...pool, addresses: ["10.0.0.9-10.0.0.1"] } },
      ["pools.gpu.addresses[0]"],
    ],
    [
      "a range of a whole network",
      { gpu: { ...pool, addresses: ["10.0.0.0-10.255.0.0"] } },
      ["pools.gpu.addresses[0]"],
    ],
    [
      "a range of three ends",
      { gpu: { ...pool, addresses: ["10.0.0.1-10.0.0.2-10.0.0.3"] } },
      ["pools.gpu.addresses[0]"],
    ],
    [
      "a range from an IPv4 to an IPv6 address",
      { gpu: { ...pool, addresses: ["10.0.0.1-fd00::4"] } },
      ["pools.gpu.addresses[0]"],
    ],
    [
      "a range with half an end",
      { gpu: { ...pool, addresses: ["10.0.0.1-4"] } },
      ["pools.gpu.addresses[0]"],
    ],
    [
      "a range of more than a network",
      { gpu: { ...pool, addresses: ["fd00::-fd00:1::"] } },
      ["pools.gpu.addresses[0]"],
    ],
    [
      "a pool without an address",
      { gpu: pool, none: { names: "x-#", addresses: [] } },
      ["pools.none.addresses"],
    ],
    [
      "an invalid address",
      { gpu: { ...pool, addresses: ["10.0.0.300"] } },
      ["machines.gpu-1.address (pool gpu)"],
    ],
    [
      "two pools with the same names",
      {
        a: { ...pool, addresses: ["10.9.0.1"] },
        gpu: { ...pool, addresses: ["10.9.0.2"] },
      },
      ["pools.gpu.names"],
    ],
    ["a misspelt field", { gpu: { ...pool, lables: {} } }, ["pools.gpu.lables"]],
  ])("is reported for %s", (_, pools, fields) => {
    expect(fieldsOf(stackWithPools(pools))).toEqual(fields);
  });

  test("names the pool's field role if no role is set", () => {
    const { role: _role, ...machineDefaults } = fleetStack.machineDefaults!;
    expect(fieldsOf(stackWithPools({ gpu: pool }, { machineDefaults }))).toEqual([
      "pools.gpu.role",
    ]);
  });
});
