import { differences, inOneLine } from "../../components/diagnosis/unlike/index";
import type { Observations } from "../../components/diagnosis";
import { planOf } from "../support/plans";
import { asPlanned } from "./as-planned";

describe("without a plan", () => {
  const told = (seen: Observations): string[] => differences(seen).map(inOneLine);

  test("an empty cluster, and one without a GPU, offer none", () => {
    const none =
      "cluster: no node has a GPU: none has NVIDIA's extensions, a label of Node Feature Discovery's for a card, or a resource nvidia.com/…";
    const nothing = "cluster: neither the GPU Operator nor NVIDIA's device plugin is installed, so nothing offers GPUs";
    const empty = { nodes: [], pods: [], daemonSets: [] };
    expect(told(empty)).toEqual([none, nothing]);
    expect(told({ ...empty, nodes: [{ name: "a", labels: {}, allocatable: { cpu: "4" } }] })).toEqual([none, nothing]);
  });

  test.each(["aarhus-h100", "rtx5070ti"])("%s: the node offers no GPU, or the plugin is not ready", (stack) => {
    const its = planOf(stack);
    const gone = asPlanned(its) as Required<Observations>;
    gone.nodes.forEach((node) => (node.allocatable = {}));
    expect(told(gone)).toEqual(
      its.machines.map(({ name }) => `node ${name}: has a GPU, and offers none: no resource nvidia.com/…`),
    );
    const waiting = asPlanned(its) as Required<Observations>;
    const set = waiting.daemonSets.find(({ name }) => name.includes("device-plugin"))!;
    set.ready = 0;
    expect(told(waiting)).toEqual([`DaemonSet ${set.namespace}/${set.name}: not ready: 0 of 1 pods`]);
  });

  test("a RuntimeClass that pods name is gone", () => {
    const seen = asPlanned(planOf("rtx3090"));
    expect(told({ ...seen, runtimeClasses: [] })).toEqual(["RuntimeClass nvidia: is not there, and pods name it"]);
  });
});
