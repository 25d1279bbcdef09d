import { causeIds, fixIds } from "../../../components/diagnosis";
import { lacks } from "../../node/gpu/faults/judge";
import { type Fault, faults } from "../../node/gpu/faults/table";

const fault: Fault = {
  id: "x",
  title: "x",
  make: () => Promise.reject(new Error("never made here")),
  unlike: [/^node gpu: offers 0/],
  known: ["driverRoot"],
  also: ["driverLibraries"],
};
const difference = {
  about: "node gpu",
  problem: "offers 0 of nvidia.com/gpu",
  lastWords: ["no library"],
};
const finding = (fix: string): never => ({ fix }) as never;

test.each<[string, unknown[], string[], string[]]>([
  ["all of it", [difference], ["driverRoot"], []],
  ["what may be named besides", [difference], ["driverRoot", "driverLibraries"], []],
  ["no cause", [difference], [], ["does not name driverRoot"]],
  ["another cause", [difference], ["driverRoot", "mps"], ["names mps, which it is not"]],
  ["nothing unlike", [], ["driverRoot"], ["nothing says /^node gpu: offers 0/"]],
])(
  "the doctor reports %s for a fault: the judge lists what is missing",
  (_what, differences, fixes, missing) => {
    expect(
      lacks(fault, { differences: differences as never, findings: fixes.map(finding) }),
    ).toEqual(missing);
  },
);

test("each fault has a unique id, a line that the doctor must print, and known causes", () => {
  expect(new Set(faults.map(({ id }) => id)).size).toBe(faults.length);
  expect(faults.length).toBeGreaterThan(5);
  expect(faults.filter(({ unlike }) => unlike.length === 0)).toEqual([]);
  const named = faults.flatMap(({ known = [], also = [] }) => [...known, ...also]);
  expect(named.filter((cause) => ![...causeIds, ...fixIds].includes(cause as never))).toEqual([]);
});
