import { remembered } from "../../../components/program/preflight/memory";
import { preflightResult, type PreflightTask } from "../../../components/program/preflight/task";

/**
 * Limit of Linux: with a longer variable the program does not start (execve, MAX_ARG_STRLEN; it counts the name
 * and the final NUL).
 */
const LONGEST_VALUE = 131_072 - "PULUMI_COMMAND_STDOUT=\n\0".length;

const schematicId = (number: number): string => number.toString(16).padStart(64, "0");
const machineName = (number: number): string => `talos-gpu-${String(number).padStart(4, "0")}`;

/** The preflight's answer, and the machines that it remembers, after this many updates of a fleet. */
function rememberAfterUpdates(
  updateCount: number,
  machineCount: number,
  schematicOf: (machineIndex: number, update: number) => string,
) {
  let rememberedMachines: Parameters<typeof remembered>[1] = {};
  let answer = remembered({ machines: [], omni: [] }, rememberedMachines);
  for (let update = 0; update < updateCount; update++) {
    const taskMachines = Array.from({ length: machineCount }, (_, index) => ({
      machine: machineName(index),
      address: `192.168.100.${index}`,
      configuration: "adopted",
      schematicId: schematicOf(index, update),
      settingsHash: `${update}`.padEnd(16, "f"),
    })) as PreflightTask["machines"];
    answer = remembered({ machines: taskMachines, omni: [] }, rememberedMachines);
    rememberedMachines = preflightResult.parse(JSON.parse(JSON.stringify(answer))).machines;
  }
  return { answer, rememberedMachines };
}

test("the preflight's answer has a machine's last ten schematics, the newest first", () => {
  const { rememberedMachines } = rememberAfterUpdates(12, 1, (_, update) => schematicId(update));
  expect(rememberedMachines[machineName(0)]).toEqual({
    hash: "11ffffffffffffff",
    schematics: Array.from({ length: 10 }, (_, index) => schematicId(11 - index)),
    place: { owner: "adopted", addressOrUuid: "192.168.100.0" },
  });
});

test("the preflight's answer has room for a thousand machines of five pools with ten schematics each", () => {
  const { answer, rememberedMachines } = rememberAfterUpdates(10, 1_000, (machine, update) =>
    schematicId(100 * (machine % 5) + update),
  );
  expect(JSON.stringify(answer).length).toBeLessThan(LONGEST_VALUE);
  expect(rememberedMachines[machineName(7)]!.schematics).toEqual(
    Array.from({ length: 10 }, (_, index) => schematicId(209 - index)),
  );
});

test.each([
  ["of a thousand machines with 300 different histories, it has one schematic each", 1_000, 1],
  ["of 5,000 machines, it has nothing", 5_000, undefined],
])("the preflight's answer stays within its limit: %s", (_, machines, length) => {
  const { answer, rememberedMachines } = rememberAfterUpdates(3, machines, (machine, update) =>
    schematicId(10 * (machine % 300) + update),
  );
  expect(JSON.stringify(answer).length).toBeLessThan(LONGEST_VALUE);
  expect(rememberedMachines[machineName(0)]?.schematics.length).toBe(length);
});
