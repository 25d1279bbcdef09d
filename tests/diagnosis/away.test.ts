import { withoutAway } from "../../components/diagnosis/away";
import { differences } from "../../components/diagnosis";
import { planCluster } from "../../components/recipe";
import { validStack } from "../recipe/stacks";
import { asPlanned } from "./as-planned";

// The second of the two machines with cards may be away, and is offline.

const spec = validStack("three-generations");
const awayMachine = Object.keys(spec.machines).at(-1)!;
spec.machines[awayMachine]!.mayBeAway = true;
const plan = planCluster(spec);
const healthy = asPlanned(plan);
const offline = {
  ...healthy,
  nodes: healthy.nodes!.map((node) =>
    node.name === awayMachine ? { ...node, ready: false, allocatable: {} } : node,
  ),
  machines: healthy.machines!.map((machine) =>
    machine.name === awayMachine ? { name: awayMachine } : machine,
  ),
  // Kubernetes wants no pod on a node that is off.
  daemonSets: healthy.daemonSets!.map((daemonSet) => ({
    ...daemonSet,
    ready: daemonSet.desired - 1,
    desired: daemonSet.desired - 1,
  })),
};

test("a machine with mayBeAway that is offline causes no differences", () => {
  const { away, ...present } = withoutAway(plan, offline);
  expect(away).toEqual([awayMachine]);
  expect(differences(present.observations, present.plan)).toEqual([]);
  expect(differences(offline, plan)).not.toEqual([]);
});

test("a pod that is not ready on another machine is a difference, although a machine is offline", () => {
  const daemonSets = offline.daemonSets.map((daemonSet) => ({
    ...daemonSet,
    ready: daemonSet.ready - 1,
  }));
  const present = withoutAway(plan, { ...offline, daemonSets });
  expect(differences(present.observations, present.plan)).not.toEqual([]);
});

test("a DaemonSet that tolerates every taint may lack its pod on the machine that is offline", () => {
  const daemonSets = healthy.daemonSets!.map((daemonSet) => ({
    ...daemonSet,
    ready: daemonSet.desired - 1,
    wantsUnreachableNodes: true,
  }));
  const present = withoutAway(plan, { ...offline, daemonSets });
  expect(differences(present.observations, present.plan)).toEqual([]);
});

test.each([
  ["it answers", { ...offline, machines: healthy.machines! }],
  ["its node is ready", { ...offline, nodes: healthy.nodes! }],
  ["the nodes were not observed", { machines: offline.machines }],
])("a machine with mayBeAway is compared if %s", (_, observations) => {
  expect(withoutAway(plan, observations)).toEqual({ plan, observations, away: [] });
});

test("a machine without mayBeAway is compared", () => {
  const { mayBeAway: _, ...machine } = spec.machines[awayMachine]!;
  const machines = { ...spec.machines, [awayMachine]: machine };
  expect(withoutAway({ ...plan, spec: { ...spec, machines } }, offline).away).toEqual([]);
});
