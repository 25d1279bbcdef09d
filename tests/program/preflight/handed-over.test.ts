import { handOverFinding } from "../../../components/recipe/effect/findings";
import { reusedPlaceFindings } from "../../../components/program/preflight/memory";
import type { PreflightTask, Remembered } from "../../../components/program/preflight/task";

type Place = NonNullable<Remembered["place"]>;

const placeOf = (owner: Place["owner"], address: string): Place => ({
  owner,
  addressOrUuid: address,
});

/** Fields and problems of the findings of an update, by the machines before and after it. */
function findingsOfUpdate(
  placesBefore: Record<string, Place | undefined>,
  placesAfter: Record<string, Place>,
): string[] {
  const rememberedMachines = Object.entries(placesBefore).map(
    ([name, place]): [string, Remembered] => [name, { hash: "1", schematics: [], place }],
  );
  const plannedMachines = Object.entries(placesAfter).map(([machine, place]) => ({
    machine,
    ...place,
  }));
  const task = {
    machines: plannedMachines
      .filter(({ owner }) => owner !== "omni")
      .map(({ machine, owner, addressOrUuid: address }) => ({
        machine,
        configuration: owner,
        address,
      })),
    omni: plannedMachines
      .filter(({ owner }) => owner === "omni")
      .map(({ machine, addressOrUuid: uuid }) => ({ machine, uuid })),
  } as unknown as Pick<PreflightTask, "machines" | "omni">;
  return reusedPlaceFindings(task, Object.fromEntries(rememberedMachines)).map(
    ({ field, problem }) => `${field}: ${problem}`,
  );
}

const [address, otherAddress] = ["10.0.0.1", "10.0.0.2"];

/** An update, by the machines that it finds and leaves, and the expected findings. */
interface HandOver {
  title: string;
  before: Record<string, Place | undefined>;
  after: Record<string, Place>;
  findings: RegExp[];
}

test.each<HandOver>([
  {
    title: "refuses to give a leaving machine's address to a new machine",
    before: { old: placeOf("adopted", address) },
    after: { new: placeOf("adopted", address) },
    findings: [
      /^machines\.new\.address: 10\.0\.0\.1 belongs to the machine old, which this update removes/,
    ],
  },
  {
    title: "refuses to give a leaving Omni machine's UUID to a new machine",
    before: { old: placeOf("omni", "uuid-1") },
    after: { new: placeOf("omni", "uuid-1") },
    findings: [/^machines\.new\.uuid: uuid-1 belongs to the machine old/],
  },
  {
    title: "refuses to move a machine to the address of a leaving machine",
    before: { old: placeOf("adopted", address), new: placeOf("adopted", otherAddress) },
    after: { new: placeOf("adopted", address) },
    findings: [/^machines\.new\.address: 10\.0\.0\.1 belongs to the machine old/],
  },
  ...(["owned", "omni"] as const).map((owner) => ({
    title: `refuses to change a machine from adopted to ${owner}`,
    before: { gpu: placeOf("adopted", address) },
    after: { gpu: placeOf(owner, address) },
    findings: [RegExp(`^machines\\.gpu\\.configuration: changes from adopted to ${owner}`)],
  })),
  {
    title: "refuses to change a machine from omni to adopted",
    before: { gpu: placeOf("omni", "uuid-1") },
    after: { gpu: placeOf("adopted", address) },
    findings: [/^machines\.gpu\.configuration: changes from omni to adopted/],
  },
  {
    title: "accepts a change of a machine from owned to adopted",
    before: { gpu: placeOf("owned", address) },
    after: { gpu: placeOf("adopted", address) },
    findings: [],
  },
  {
    title: "accepts another name for an owned machine",
    before: { old: placeOf("owned", address) },
    after: { new: placeOf("owned", address) },
    findings: [],
  },
  {
    title: "accepts a new machine at another address than the leaving machine",
    before: { old: placeOf("adopted", address) },
    after: { new: placeOf("adopted", otherAddress) },
    findings: [],
  },
  {
    title: "accepts another address of a machine",
    before: { gpu: placeOf("adopted", address) },
    after: { gpu: placeOf("adopted", otherAddress) },
    findings: [],
  },
  {
    title: "accepts two machines that exchange their addresses",
    before: { a: placeOf("adopted", address), b: placeOf("adopted", otherAddress) },
    after: { a: placeOf("adopted", otherAddress), b: placeOf("adopted", address) },
    findings: [],
  },
  {
    title: "accepts a new machine if the leaving machine's address is unknown",
    before: { old: undefined },
    after: { new: placeOf("adopted", address) },
    findings: [],
  },
])("the preflight $title", ({ before, after, findings }) => {
  expect(findingsOfUpdate(before, after)).toEqual(
    findings.map((pattern) => expect.stringMatching(pattern) as string),
  );
});

test("the refusal of a change from adopted to owned explains the way back and what a destroy deletes", () => {
  const { why, remedy } = handOverFinding("adopted", "owned")!;
  expect(why).toContain(
    "at the end of the update, Pulumi removes the additions that the stack made before, and would remove them from the new configuration, too",
  );
  expect(remedy).toContain("If the last update failed, first complete that update with adopted");
  expect(remedy).toMatch(/`pulumi destroy` \(which also deletes the workloads' volumes\)/);
});
