import { GpuCluster } from "talos-gpu";
import { withoutStackTraces } from "../../components/pulumi/without-stack-traces";
import { clusterArgs } from "../support/gpu-cluster";
import { record } from "../support/recorder";
import { providerAnswers } from "../support/talos";

// The SDK records a stack trace for every promise. This is slow if Pulumi's command maps each frame to a line of
// TypeScript.

test.each([
  {
    title:
      "withoutStackTraces turns stack frames off while resources are registered, and on again afterwards",
    registerIn: withoutStackTraces,
    expectedLimit: 0,
  },
  {
    title: "transformations in a user's own program keep stack frames",
    registerIn: <T>(register: () => T): T => register(),
    expectedLimit: Error.stackTraceLimit,
  },
])("$title", async ({ registerIn, expectedLimit }) => {
  const registrations: { name: string; limit: number }[] = [];
  const transformations = [
    ({ name, props, opts }: { name: string; props: object; opts: object }) => {
      registrations.push({ name, limit: Error.stackTraceLimit });
      return { props, opts };
    },
  ];
  const usualLimit = Error.stackTraceLimit;
  await record(
    () =>
      void registerIn(() => new GpuCluster("lab", clusterArgs("rtx5070ti"), { transformations })),
    providerAnswers,
  );
  expect(registrations.length).toBeGreaterThan(4); // the component itself, configuration, upgrade, node, smoke test
  expect(registrations.filter(({ limit }) => limit !== expectedLimit)).toEqual([]);
  expect(Error.stackTraceLimit).toBe(usualLimit);
});

test("in a user's own program without transformations, promises of machines have no stack frames", async () => {
  // The SDK's record of a promise (runtime/debuggable.ts) contains the promise's stack trace.
  const stacks: string[] = [];
  const defineProperty = Object.defineProperty;
  const spy = jest.spyOn(Object, "defineProperty").mockImplementation((target, key, attributes) => {
    if (key === "_debugStackTrace") stacks.push(attributes.value as string);
    return defineProperty(target, key, attributes);
  });
  try {
    await record(() => void new GpuCluster("lab", clusterArgs("rtx5070ti")), providerAnswers);
  } finally {
    spy.mockRestore();
  }
  expect(stacks.filter((stack) => stack.includes("gpu-machines"))).toEqual([]);
  expect(stacks.length).toBeGreaterThan(20);
});

test("withoutStackTraces passes an error on, and later errors have stack frames", () => {
  const fail = (): never => {
    throw new Error("no such machine");
  };
  expect(() => withoutStackTraces(fail)).toThrow("no such machine");
  expect(new Error().stack).toContain("without-stack-traces.test");
});

test("withoutStackTraces keeps stack frames if PULUMI_DEBUG_PROMISE_LEAKS is set", () => {
  process.env["PULUMI_DEBUG_PROMISE_LEAKS"] = "1";
  try {
    expect(withoutStackTraces(() => new Error().stack)).toContain("without-stack-traces.test");
  } finally {
    delete process.env["PULUMI_DEBUG_PROMISE_LEAKS"];
  }
});
