import { remembered } from "../../../components/program/preflight/memory";
import { preflightResult, type PreflightTask } from "../../../components/program/preflight/task";

/**
 * Limit of Linux: with a longer variable the program does not start (execve, MAX_ARG_STRLEN; it counts the name
 * and the final NUL).
 */
const LONGEST = 131_072 - "PULUMI_COMMAND_STDOUT=\n\0".length;

const schematic = (number: number): string => number.toString(16).padStart(64, "0");
const name = (number: number): string => `talos-gpu-${String(number).padStart(4, "0")}`;

/** The remembered machines of a fleet after this many updates. */
function after(
  updates: number,
  machines: number,
  schematicOf: (machine: number, update: number) => string,
) {
  let before: Parameters<typeof remembered>[1] = {};
  let answer = remembered({ machines: [], omni: [] }, before);
  for (let update = 0; update < updates; update++) {
    const asked = Array.from({ length: machines }, (_, machine) => ({
      machine: name(machine),
      address: `192.168.100.${machine}`,
      configuration: "adopted",
      schematicId: schematicOf(machine, update),
      wanted: `${update}`.padEnd(16, "f"),
    })) as PreflightTask["machines"];
    answer = remembered({ machines: asked, omni: [] }, before);
    before = preflightResult.parse(JSON.parse(JSON.stringify(answer))).machines;
  }
  return { answer, before };
}

test("the preflight's answer has a machine's last ten schematics, the newest first", () => {
  const { before } = after(12, 1, (_, update) => schematic(update));
  expect(before[name(0)]).toEqual({
    wanted: "11ffffffffffffff",
    brought: Array.from({ length: 10 }, (_, index) => schematic(11 - index)),
    place: { owner: "adopted", at: "192.168.100.0" },
  });
});

test("the preflight's answer has room for a thousand machines of five pools with ten schematics each", () => {
  const { answer, before } = after(10, 1_000, (machine, update) =>
    schematic(100 * (machine % 5) + update),
  );
  expect(JSON.stringify(answer).length).toBeLessThan(LONGEST);
  expect(before[name(7)]!.brought).toEqual(
    Array.from({ length: 10 }, (_, index) => schematic(209 - index)),
  );
});

test.each([
  [
    "of a thousand machines with 300 different histories, it has only the newest schematic",
    1_000,
    1,
  ],
  ["of 5,000 machines, it has nothing", 5_000, undefined],
])("the preflight's answer stays within its limit: %s", (_, machines, length) => {
  const { answer, before } = after(3, machines, (machine, update) =>
    schematic(10 * (machine % 300) + update),
  );
  expect(JSON.stringify(answer).length).toBeLessThan(LONGEST);
  expect(before[name(0)]?.brought.length).toBe(length);
});
