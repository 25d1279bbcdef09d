import { handOverFinding } from "../../../components/recipe/effect/findings";
import { takenAway } from "../../../components/program/preflight/memory";
import type { PreflightTask, Remembered } from "../../../components/program/preflight/task";

type Place = NonNullable<Remembered["place"]>;

const at = (owner: Place["owner"], place: string): Place => ({ owner, at: place });

/** Fields and problems of an update from the first machines to the second ones. */
function update(before: Record<string, Place | undefined>, after: Record<string, Place>): string[] {
  const known = Object.entries(before).map(([name, place]): [string, Remembered] => [
    name,
    { wanted: "1", brought: [], place },
  ]);
  const now = Object.entries(after).map(([machine, place]) => ({ machine, ...place }));
  const task = {
    machines: now
      .filter(({ owner }) => owner !== "omni")
      .map(({ machine, owner, at: address }) => ({ machine, configuration: owner, address })),
    omni: now
      .filter(({ owner }) => owner === "omni")
      .map(({ machine, at: uuid }) => ({ machine, uuid })),
  } as unknown as Pick<PreflightTask, "machines" | "omni">;
  return takenAway(task, Object.fromEntries(known)).map(
    ({ field, problem }) => `${field}: ${problem}`,
  );
}

const [here, there] = ["10.0.0.1", "10.0.0.2"];

test.each<[string, Record<string, Place | undefined>, Record<string, Place>, RegExp[]]>([
  [
    "refuses to give a leaving machine's address to a new machine",
    { old: at("adopted", here) },
    { new: at("adopted", here) },
    [/^machines\.new\.address: 10\.0\.0\.1 belongs to the machine old, which this update removes/],
  ],
  [
    "refuses to give a leaving Omni machine's UUID to a new machine",
    { old: at("omni", "uuid-1") },
    { new: at("omni", "uuid-1") },
    [/^machines\.new\.uuid: uuid-1 belongs to the machine old/],
  ],
  [
    "refuses to move a machine to the address of a leaving machine",
    { old: at("adopted", here), new: at("adopted", there) },
    { new: at("adopted", here) },
    [/^machines\.new\.address: 10\.0\.0\.1 belongs to the machine old/],
  ],
  ...(["owned", "omni"] as const).map(
    (owner): [string, Record<string, Place>, Record<string, Place>, RegExp[]] => [
      `refuses to change a machine from adopted to ${owner}`,
      { it: at("adopted", here) },
      { it: at(owner, here) },
      [RegExp(`^machines\\.it\\.configuration: changes from adopted to ${owner}`)],
    ],
  ),
  [
    "refuses to change a machine from omni to adopted",
    { it: at("omni", "uuid-1") },
    { it: at("adopted", here) },
    [/^machines\.it\.configuration: changes from omni to adopted/],
  ],
  [
    "accepts a change of a machine from owned to adopted",
    { it: at("owned", here) },
    { it: at("adopted", here) },
    [],
  ],
  [
    "accepts another name for an owned machine",
    { old: at("owned", here) },
    { new: at("owned", here) },
    [],
  ],
  [
    "accepts a new machine at another address than the leaving machine",
    { old: at("adopted", here) },
    { new: at("adopted", there) },
    [],
  ],
  [
    "accepts another address of a machine",
    { it: at("adopted", here) },
    { it: at("adopted", there) },
    [],
  ],
  [
    "accepts two machines that exchange their addresses",
    { a: at("adopted", here), b: at("adopted", there) },
    { a: at("adopted", there), b: at("adopted", here) },
    [],
  ],
  [
    "accepts a new machine if the leaving machine's address is unknown",
    { old: undefined },
    { new: at("adopted", here) },
    [],
  ],
])("the preflight %s", (_, before, after, said) => {
  expect(update(before, after)).toEqual(said.map((text) => expect.stringMatching(text) as string));
});

test("the refusal of a change from adopted to owned explains the way back and what a destroy deletes", () => {
  const { why, remedy } = handOverFinding("adopted", "owned")!;
  expect(why).toContain(
    "only at the end of the update, after the machine got the new configuration",
  );
  expect(remedy).toContain("If the last update failed, first finish it with adopted");
  expect(remedy).toMatch(/`pulumi destroy` \(which also deletes the workloads' volumes\)/);
});
