import { causeIds, fixIds } from "../../../components/diagnosis";
import { problemsOfReport } from "../../node/gpu/faults/judge";
import { type Fault, faults } from "../../node/gpu/faults/table";

const fault: Fault = {
  id: "x",
  title: "x",
  make: () => Promise.reject(new Error("no test makes this fault")),
  differences: [/^node gpu: offers 0/],
  causes: ["driverRoot"],
  allowedCauses: ["driverLibraries"],
};
const difference = {
  about: "node gpu",
  problem: "offers 0 of nvidia.com/gpu",
  lastWords: ["no library"],
};
const finding = (fix: string): never => ({ fix }) as never;

test.each<[string, string[], unknown[], string[]]>([
  ["the difference and the cause", [], [difference], ["driverRoot"]],
  ["an allowed further cause", [], [difference], ["driverRoot", "driverLibraries"]],
  ["no cause", ["does not name driverRoot"], [difference], []],
  ["a wrong cause", ["reports mps, which is not the cause"], [difference], ["driverRoot", "mps"]],
  ["no difference", ["nothing says /^node gpu: offers 0/"], [], ["driverRoot"]],
])(
  "if the doctor reports %s for a fault, the problems of the report are %j",
  (_what, expectedProblems, differences, fixes) => {
    expect(
      problemsOfReport(fault, { differences: differences as never, findings: fixes.map(finding) }),
    ).toEqual(expectedProblems);
  },
);

test("each fault has a unique id, a line that the doctor must print, and known causes", () => {
  expect(new Set(faults.map(({ id }) => id)).size).toBe(faults.length);
  expect(faults.length).toBeGreaterThan(5);
  expect(faults.filter(({ differences }) => differences.length === 0)).toEqual([]);
  const namedCauses = faults.flatMap(({ causes = [], allowedCauses = [] }) => [
    ...causes,
    ...allowedCauses,
  ]);
  expect(namedCauses.filter((cause) => ![...causeIds, ...fixIds].includes(cause as never))).toEqual(
    [],
  );
});
