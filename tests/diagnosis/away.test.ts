import { withoutAway } from "../../components/diagnosis/away";
import { differences } from "../../components/diagnosis";
import { planCluster } from "../../components/recipe";
import { validStack } from "../recipe/stacks";
import { asPlanned } from "./as-planned";

// Two machines with cards. The second is one that may be away.

const spec = validStack("three-generations");
const lent = Object.keys(spec.machines).at(-1)!;
spec.machines[lent]!.mayBeAway = true;
const plan = planCluster(spec);
const well = asPlanned(plan);
const gone = {
  ...well,
  nodes: well.nodes!.map((node) =>
    node.name === lent ? { ...node, ready: false, allocatable: {} } : node,
  ),
  machines: well.machines!.map((machine) => (machine.name === lent ? { name: lent } : machine)),
  daemonSets: well.daemonSets!.map((set) => ({ ...set, ready: set.desired - 1 })),
};

test("a machine with mayBeAway that is offline causes no differences", () => {
  const { away, ...present } = withoutAway(plan, gone);
  expect(away).toEqual([lent]);
  expect(differences(present.seen, present.plan)).toEqual([]);
  expect(differences(gone, plan)).not.toEqual([]);
});

test.each([
  ["it answers", { ...gone, machines: well.machines! }],
  ["its node is ready", { ...gone, nodes: well.nodes! }],
  ["the nodes were not observed", { machines: gone.machines }],
])("a machine with mayBeAway is compared if %s", (_, seen) => {
  expect(withoutAway(plan, seen)).toEqual({ plan, seen, away: [] });
});

test("a machine without mayBeAway is compared", () => {
  const { mayBeAway: _, ...machine } = spec.machines[lent]!;
  const strict = { ...plan, spec: { ...spec, machines: { ...spec.machines, [lent]: machine } } };
  expect(withoutAway(strict, gone).away).toEqual([]);
});
