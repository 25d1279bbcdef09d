import { isReady } from "../../cluster/node";

const node = (ready: string, taints: string[]): Parameters<typeof isReady>[0] => ({
  status: { conditions: [{ type: "Ready", status: ready }] },
  spec: { taints: taints.map((key) => ({ key, effect: "NoSchedule" })) },
});

test.each([
  ["it does not say so", node("False", []), false],
  ["it says so", node("True", []), true],
  ["it says so, and its taint is still there", node("True", ["node.kubernetes.io/not-ready"]), false],
  ["somebody's own taint", node("True", ["gpu"]), true],
  ["nothing is known of it yet", {}, false],
])("a node is ready: %s", (_, its, ready) => expect(isReady(its)).toBe(ready));
