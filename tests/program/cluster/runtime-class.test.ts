import type { Cluster } from "../../../components/program/cluster/cluster";
import { awaitFree } from "../../../components/program/cluster/runtime-class";
import type { FreeTask } from "../../../components/program/task";
import { FakeClock } from "../fakes";
import { errorMessageOf } from "../setup";

type FoundClass = NonNullable<Awaited<ReturnType<Cluster["runtimeClass"]>>>;
const mark = { annotation: "talos-gpu/owner", ours: "shop/prod/" };
const task = { runtimeClass: "nvidia", mark, limit: "10m", pollSeconds: 1, field: "devicePlugin" };
const operators: FoundClass = { policy: "cluster-policy", handler: "nvidia", annotations: {} };
const found = (owner?: string): FoundClass => ({
  policy: undefined,
  handler: "nvidia",
  annotations: owner === undefined ? {} : { [mark.annotation]: owner },
});

/** Waits for a class to be free that is deleted after this many seconds. */
function ask(there: FoundClass | undefined, seconds: number, more: Partial<FreeTask> = {}) {
  const [clock, lines]: [FakeClock, string[]] = [new FakeClock(), []];
  let now = there;
  clock.after(seconds, () => (now = undefined));
  const classes = { runtimeClass: async () => now };
  return {
    clock,
    lines,
    run: () => awaitFree({ ...task, ...more }, classes, clock, (line) => lines.push(line)),
  };
}

test.each<[string, FoundClass | undefined]>([
  ["does not exist", undefined],
  ["belongs to this stack", found("shop/prod/lab-runtime-class 6f1c")],
])("the check of the RuntimeClass passes at once if the class %s", async (_, there) => {
  const { clock, lines, run } = ask(there, 3600);
  expect(await run()).toEqual({ runtimeClass: "nvidia" });
  expect([clock.now(), lines]).toEqual([0, []]);
});

test.each([
  [
    "was created by hand",
    found(),
    /and does not belong to this stack; .*once the machines are upgraded.*; run `kubectl delete runtimeclass/,
  ],
  [
    "belongs to another stack",
    found("shop/test/lab-runtime-class 77"),
    /already exists, and was created by shop\/test\/lab-runtime-class; .*; put all GPU machines /,
  ],
])("the check of the RuntimeClass fails at once if the class %s", async (_, there, said) => {
  const { clock, run } = ask(there, 3600);
  expect(await errorMessageOf(run())).toMatch(said);
  expect(clock.now()).toBe(0);
});

test("the check waits until the RuntimeClass of an uninstalled operator is deleted", async () => {
  const { clock, lines, run } = ask(operators, 40);
  expect(await run()).toEqual({ runtimeClass: "nvidia" });
  expect(clock.now()).toBeLessThan(45_000);
  expect(lines).toEqual([
    "waiting up to 10m until RuntimeClass nvidia of ClusterPolicy cluster-policy is deleted",
  ]);
});

test("the check fails at its limit if the RuntimeClass of an operator stays", async () => {
  const { run } = ask(operators, 3600, { field: "dra" });
  expect(await errorMessageOf(run())).toMatch(
    /^dra: RuntimeClass nvidia was not deleted within 10m \(last: it belongs to ClusterPolicy cluster-policy\)/,
  );
});

test.each([
  [
    "has the right handler",
    found(),
    /nvidia with the handler nvidia is external, and stays unchanged/,
  ],
  ["belongs to an operator", operators, /with the handler nvidia is external/],
  [
    "does not exist yet",
    undefined,
    /nvidia does not exist yet; until it exists, Kubernetes refuses/,
  ],
])("the check does not wait for an external RuntimeClass that %s", async (_, there, said) => {
  const { clock, lines, run } = ask(there, 3600, { field: "external", theirs: true });
  expect(await run()).toEqual({ runtimeClass: "nvidia" });
  expect([clock.now(), lines.join("\n")]).toEqual([0, expect.stringMatching(said)]);
});

test.each([{ field: "external", theirs: true }, { theirs: true }, { field: "dra" }])(
  "a RuntimeClass with a wrong handler is refused in the task %j",
  async (more) => {
    const { run } = ask({ ...found(), handler: "nvidia-legacy" }, 3600, more);
    expect(await errorMessageOf(run())).toMatch(
      new RegExp(
        `^${more.field ?? task.field}: RuntimeClass nvidia, which does not belong to this stack, has the handler nvidia-legacy`,
      ),
    );
  },
);
