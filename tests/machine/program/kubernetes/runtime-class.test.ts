import { awaitFree } from "../../../../components/machine/program/kubernetes/runtime-class";
import { FakeClock } from "../fakes";
import { failure } from "../setup";

const task = { runtimeClass: "nvidia", limit: "10m", pollSeconds: 1 };

/** Asks while the class is the operator's for so many seconds. */
function ask(seconds: number) {
  const [clock, lines]: [FakeClock, string[]] = [new FakeClock(), []];
  let policy: string | undefined = "cluster-policy";
  clock.after(seconds, () => (policy = undefined));
  const classes = { policyOf: async () => (seconds === 0 ? undefined : policy) };
  return { clock, lines, run: () => awaitFree(task, classes, clock, (line) => lines.push(line)) };
}

test("a name that is nobody's, or not the operator's, is free at once", async () => {
  const { clock, lines, run } = ask(0);
  expect(await run()).toEqual({ runtimeClass: "nvidia" });
  expect([clock.now(), lines]).toEqual([0, []]);
});

test("one of an operator that has gone is waited for", async () => {
  const { clock, lines, run } = ask(40);
  expect(await run()).toEqual({ runtimeClass: "nvidia" });
  expect(clock.now()).toBeLessThan(45_000);
  expect(lines).toEqual(["waiting up to 10m for RuntimeClass nvidia of ClusterPolicy cluster-policy to go"]);
});

test("one of an operator that stays is named at the limit", async () => {
  const { run } = ask(3600);
  expect(await failure(run())).toMatch(
    /devicePlugin: RuntimeClass nvidia did not go within 10m \(last: it belongs to ClusterPolicy cluster-policy\)/,
  );
});
