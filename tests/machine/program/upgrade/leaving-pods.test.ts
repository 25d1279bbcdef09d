import { CallError } from "../../../../components/clients/failure";
import { costOf, holding } from "../../../../components/machine/program/upgrade/leaving-pods";
import { pod } from "../fakes";
import { failure, setup } from "../setup";

test.each([
  [pod("web", { controller: "ReplicaSet" }), []],
  [pod("shell"), ["has no controller, so nothing recreates it after the eviction"]],
  [pod("db", { controller: "StatefulSet", localStorage: true }), ["loses what it keeps in an emptyDir"]],
  [pod("train", { controller: "Job", gpus: 2 }), ["holds 2 GPUs: its computation is interrupted"]],
  [pod("notebook", { localStorage: true, gpus: 1 }), ["has no controller", "emptyDir", "holds a GPU"]],
])("what goes with a pod: $name", (one, said) => {
  const costs = costOf(one);
  expect(costs).toHaveLength(said.length);
  said.forEach((part, index) => expect(costs[index]).toContain(part));
  for (const cost of costs) expect(cost).toContain(`default/${one.name}`);
});

test.each([
  [
    "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 1 healthy pods and has 1 currently",
    {},
    "the owner of the disruption budget default/web decides",
  ],
  ["admission webhook denied the request", {}, "the owner of the namespace default decides"],
  [undefined, { finalizers: ["example.com/hold"] }, "the one who put the finalizer there decides"],
  [undefined, { grace: 3600 }, "the pod's owner decides how long it takes: raise timeouts.drain"],
])("who decides on a pod that does not go: %s", (refused, more, decides) => {
  expect(holding(pod("web", more), refused).decides).toContain(decides);
});

test("pods are told of before they are evicted, each once; those that do not go are named one by one", async () => {
  const { cluster, lines, run } = setup();
  cluster.podList = [pod("shell"), pod("db", { controller: "StatefulSet" }), pod("web", { controller: "ReplicaSet" })];
  cluster.budgets["db"] = "The disruption budget db-1 needs 3 healthy pods and has 3 currently";
  cluster.budgets["web"] = "The disruption budget web-1 needs 1 healthy pods and has 1 currently";
  const message = await failure(run());
  expect(lines.filter((line) => line.includes("default/shell has no controller"))).toHaveLength(1);
  const findings = message.split("\n");
  expect(findings).toHaveLength(2);
  expect(findings[0]).toMatch(
    /pod default\/db did not go within 5m: .*the owner of the disruption budget default\/db-1 decides/,
  );
  expect(findings[1]).toMatch(/pod default\/web .*default\/web-1 decides.*kubectl uncordon gpu-1/);
});

test("a pod that goes already is not told again", async () => {
  const { clock, cluster, run } = setup();
  cluster.podList = [pod("going", { terminating: true }), pod("app")];
  clock.after(60, () => (cluster.podList = cluster.podList.filter(({ name }) => name !== "going")));
  expect(await run()).toMatchObject({ rebooted: true });
  expect(cluster.calls).toEqual(["cordon", "evict app", "uncordon"]);
});

test("a pod whose eviction nobody answered is not said to be terminating", async () => {
  const { cluster, run } = setup();
  cluster.podList = [pod("app")];
  cluster.failing["app"] = new CallError("unreachable", "Kubernetes: connection refused");
  expect(await failure(run())).toMatch(
    /pod default\/app did not go within 5m: the update could not ask for its eviction \(last: Kubernetes: connection refused\); .*check that the Kubernetes API answers/,
  );
});
