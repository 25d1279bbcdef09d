import type { Cluster } from "../../../components/program/cluster/cluster";
import { awaitFree } from "../../../components/program/cluster/runtime-class";
import type { FreeTask } from "../../../components/program/task";
import { FakeClock } from "../fakes";
import { errorMessageOf } from "../setup";

type RuntimeClass = NonNullable<Awaited<ReturnType<Cluster["runtimeClass"]>>>;
const mark = { annotation: "talos-gpu/owner", valuePrefix: "shop/prod/" };
const task = { runtimeClass: "nvidia", mark, limit: "10m", pollSeconds: 1, field: "devicePlugin" };
const operatorsClass: RuntimeClass = {
  policy: "cluster-policy",
  handler: "nvidia",
  annotations: {},
};
const runtimeClass = (owner?: string): RuntimeClass => ({
  policy: undefined,
  handler: "nvidia",
  annotations: owner === undefined ? {} : { [mark.annotation]: owner },
});

/** Sets up a wait for a RuntimeClass, which is deleted after this many seconds. */
function setupWait(
  existingClass: RuntimeClass | undefined,
  seconds: number,
  taskFields: Partial<FreeTask> = {},
) {
  const clock = new FakeClock();
  const lines: string[] = [];
  let currentClass = existingClass;
  clock.after(seconds, () => (currentClass = undefined));
  const classes = { runtimeClass: async () => currentClass };
  return {
    clock,
    lines,
    run: () => awaitFree({ ...task, ...taskFields }, classes, clock, (line) => lines.push(line)),
  };
}

test.each<[string, RuntimeClass | undefined]>([
  ["does not exist", undefined],
  ["belongs to this stack", runtimeClass("shop/prod/lab-runtime-class 6f1c")],
])("the check of the RuntimeClass passes at once if the class %s", async (_, existingClass) => {
  const { clock, lines, run } = setupWait(existingClass, 3600);
  expect(await run()).toEqual({ runtimeClass: "nvidia" });
  expect(clock.now()).toBe(0);
  expect(lines).toEqual([]);
});

test.each([
  [
    "was created by hand",
    runtimeClass(),
    /and does not belong to this stack; .*once the machines are upgraded.*; run `kubectl delete runtimeclass/,
  ],
  [
    "belongs to another stack",
    runtimeClass("shop/test/lab-runtime-class 77"),
    /already exists, and was created by shop\/test\/lab-runtime-class; .*; put all GPU machines /,
  ],
])(
  "the check of the RuntimeClass fails at once if the class %s",
  async (_, existingClass, expectedMessage) => {
    const { clock, run } = setupWait(existingClass, 3600);
    expect(await errorMessageOf(run())).toMatch(expectedMessage);
    expect(clock.now()).toBe(0);
  },
);

test("the check waits until the RuntimeClass of an uninstalled operator is deleted", async () => {
  const { clock, lines, run } = setupWait(operatorsClass, 40);
  expect(await run()).toEqual({ runtimeClass: "nvidia" });
  expect(clock.now()).toBeLessThan(45_000);
  expect(lines).toEqual([
    "waiting up to 10m until RuntimeClass nvidia of ClusterPolicy cluster-policy is deleted",
  ]);
});

test("the check fails at its limit if the RuntimeClass of an operator stays", async () => {
  const { run } = setupWait(operatorsClass, 3600, { field: "dra" });
  expect(await errorMessageOf(run())).toMatch(
    /^dra: RuntimeClass nvidia was not deleted within 10m \(last: it belongs to ClusterPolicy cluster-policy\)/,
  );
});

test.each([
  [
    "has the right handler",
    runtimeClass(),
    /nvidia with the handler nvidia belongs to another tool, and stays unchanged/,
  ],
  ["belongs to an operator", operatorsClass, /with the handler nvidia belongs to another tool/],
  [
    "does not exist yet",
    undefined,
    /nvidia does not exist yet; until it exists, Kubernetes refuses/,
  ],
])(
  "the check does not wait for an external RuntimeClass that %s",
  async (_, existingClass, expectedMessage) => {
    const { clock, lines, run } = setupWait(existingClass, 3600, {
      field: "external",
      isExternal: true,
    });
    expect(await run()).toEqual({ runtimeClass: "nvidia" });
    expect(clock.now()).toBe(0);
    expect(lines.join("\n")).toMatch(expectedMessage);
  },
);

test.each([{ field: "external", isExternal: true }, { isExternal: true }, { field: "dra" }])(
  "a RuntimeClass with a wrong handler is refused in the task %j",
  async (taskFields) => {
    const { run } = setupWait({ ...runtimeClass(), handler: "nvidia-legacy" }, 3600, taskFields);
    expect(await errorMessageOf(run())).toMatch(
      new RegExp(
        `^${taskFields.field ?? task.field}: RuntimeClass nvidia, which does not belong to this stack, has the handler nvidia-legacy`,
      ),
    );
  },
);
