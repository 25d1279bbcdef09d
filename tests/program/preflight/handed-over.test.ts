import { handOverFinding } from "../../../components/recipe/effect/findings";
import { takenAway } from "../../../components/program/preflight/memory";
import type { PreflightTask, Remembered } from "../../../components/program/preflight/task";

type Place = NonNullable<Remembered["place"]>;

const at = (owner: Place["owner"], place: string): Place => ({ owner, at: place });

/** Fields and problems of an update from these machines to those. */
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
    "a machine of another name",
    { old: at("adopted", here) },
    { new: at("adopted", here) },
    [/^machines\.new\.address: 10\.0\.0\.1 belongs to old, which leaves/],
  ],
  [
    "a machine of another name in Omni",
    { old: at("omni", "uuid-1") },
    { new: at("omni", "uuid-1") },
    [/^machines\.new\.uuid: uuid-1 belongs to old/],
  ],
  [
    "a machine that takes the place of one that leaves",
    { old: at("adopted", here), new: at("adopted", there) },
    { new: at("adopted", here) },
    [/^machines\.new\.address: 10\.0\.0\.1 belongs to old/],
  ],
  ...(["owned", "omni"] as const).map(
    (owner): [string, Record<string, Place>, Record<string, Place>, RegExp[]] => [
      `adopted to ${owner}`,
      { it: at("adopted", here) },
      { it: at(owner, here) },
      [RegExp(`^machines\\.it\\.configuration: changes from adopted to ${owner}`)],
    ],
  ),
  [
    "Omni's to adopted",
    { it: at("omni", "uuid-1") },
    { it: at("adopted", here) },
    [/^machines\.it\.configuration: changes from omni to adopted/],
  ],
  ["owned to adopted", { it: at("owned", here) }, { it: at("adopted", here) }, []],
  ["an owned machine of another name", { old: at("owned", here) }, { new: at("owned", here) }, []],
  ["one leaves, another comes", { old: at("adopted", here) }, { new: at("adopted", there) }, []],
  ["another address", { it: at("adopted", here) }, { it: at("adopted", there) }, []],
  [
    "two that change addresses",
    { a: at("adopted", here), b: at("adopted", there) },
    { a: at("adopted", there), b: at("adopted", here) },
    [],
  ],
  ["a machine whose place is not remembered", { old: undefined }, { new: at("adopted", here) }, []],
])("%s", (_, before, after, said) => {
  expect(update(before, after)).toEqual(said.map((text) => expect.stringMatching(text) as string));
});

test("with the same owner, the messages explain how to reverse a failed update and what a destroy deletes", () => {
  const { why, remedy } = handOverFinding("adopted", "owned")!;
  expect(why).toContain(
    "only at the end of the update, after the machine got the new configuration",
  );
  expect(remedy).toContain("If the last update failed, first finish it with adopted");
  expect(remedy).toMatch(/`pulumi destroy` \(which also deletes the workloads' volumes\)/);
});
