import { register } from "../../bench/programs";
import type { Registered, Run } from "../support/recorder";

const COUNT = 12; // more than the window, so that machines wait for machines

let component: Run;
let handwritten: Run;

beforeAll(async () => {
  component = await register("component", COUNT);
  handwritten = await register("handwritten", COUNT);
});

/** Keys by what a resource is and not by when it came. */
const key = ({ type, name }: Registered): string => `${type} ${name}`;
const last = (urn: string): string => urn.split("::").at(-1)!;
const byKey = ({ resources }: Run): Map<string, Registered> => new Map(resources.map((one) => [key(one), one]));

test("the handwritten program registers the very resources of the component, and asks as much", () => {
  expect([...byKey(handwritten).keys()].sort()).toEqual([...byKey(component).keys()].sort());
  const parents = (run: Run): Record<string, string> =>
    Object.fromEntries(run.resources.map((resource) => [key(resource), last(resource.parent)]));
  expect(parents(handwritten)).toEqual(parents(component));
  expect(handwritten.calls.map(({ token }) => token)).toEqual(component.calls.map(({ token }) => token));
});

/** Marks of the component's, by which it knows its own after a kill, and what a test has tested. */
const marks = ["talos-gpu/owner", "talos-gpu/tests", "pulumi.com/patchFieldManager"];

test("a machine's resources have the same inputs, but for the component's marks", () => {
  const [ours, theirs] = [byKey(component), byKey(handwritten)];
  const comparable = (resource: Registered): unknown =>
    JSON.parse(
      JSON.stringify(resource.inputs, (key, value: unknown) => {
        if (key !== "annotations") return value;
        const others = Object.entries(value as object).filter(([name]) => !marks.includes(name));
        return others.length === 0 ? undefined : Object.fromEntries(others);
      }),
    );
  const perMachine = [...ours.keys()].filter((name) => /gpu-\d{4}/.test(name));
  expect(perMachine).toHaveLength(COUNT * 5 + 1);
  // A component's inputs are for people to read.
  const made = perMachine.filter((name) => ours.get(name)!.custom);
  for (const name of made) expect(comparable(theirs.get(name)!)).toEqual(comparable(ours.get(name)!));
});

test("the component waits for nothing that the handwritten program does not wait for, and the other way round", () => {
  expect(reachable(component)).toEqual(reachable(handwritten));
});

/** Everything that each resource waits for, through others and through the components that it is part of. */
function reachable(run: Run): Record<string, string[]> {
  const direct = new Map(
    run.resources.map(({ urn, dependencies, parent }) => [last(urn), [...dependencies, parent].map(last)]),
  );
  const all = (name: string, seen: Set<string>): Set<string> => {
    for (const next of direct.get(name) ?? []) {
      if (next === "" || seen.has(next)) continue;
      seen.add(next);
      all(next, seen);
    }
    return seen;
  };
  return Object.fromEntries([...direct.keys()].map((name) => [name, [...all(name, new Set())].sort()]));
}
