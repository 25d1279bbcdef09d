import { GpuCluster } from "talos-gpu";
import { withoutFrames } from "../components/cluster/few-frames";
import { arguments_, types } from "./support/gpu-cluster";
import { record } from "./support/recorder";
import { providers } from "./support/talos";

// Frames of a stack cost where Pulumi's command maps each to a line of TypeScript, and the SDK writes a stack down for every promise.

test("a machine's resources are registered without frames, and the program has its own again", async () => {
  const limits = new Map<string, number>();
  const transformations = [
    ({ type, props, opts }: { type: string; props: object; opts: object }) => {
      if (!limits.has(type)) limits.set(type, Error.stackTraceLimit);
      return { props, opts };
    },
  ];
  const before = Error.stackTraceLimit;
  await record(() => void new GpuCluster("lab", arguments_("rtx5070ti"), { transformations }), providers);
  const { cluster, machine, configuration, program, job, deployment } = types;
  expect([machine, configuration, program, job].map((type) => limits.get(type))).toEqual([0, 0, 0, 0]);
  expect([cluster, deployment].map((type) => limits.get(type))).toEqual([before, before]);
  expect(Error.stackTraceLimit).toBe(before);
});

test("an error comes through, and frames with it from then on", () => {
  const fail = (): never => {
    throw new Error("no such machine");
  };
  expect(() => withoutFrames(fail)).toThrow("no such machine");
  expect(new Error().stack).toContain("few-frames.test");
});

test("whoever looks for a promise that never ends has the stacks", () => {
  process.env["PULUMI_DEBUG_PROMISE_LEAKS"] = "1";
  try {
    expect(withoutFrames(() => new Error().stack)).toContain("few-frames.test");
  } finally {
    delete process.env["PULUMI_DEBUG_PROMISE_LEAKS"];
  }
});
