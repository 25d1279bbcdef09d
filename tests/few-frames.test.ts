import { GpuCluster } from "talos-gpu";
import { withoutFrames } from "../components/cluster/few-frames";
import { arguments_ } from "./support/gpu-cluster";
import { record } from "./support/recorder";
import { providers } from "./support/talos";

// Frames of a stack cost where Pulumi's command maps each to a line of TypeScript, and the SDK writes a stack down for every promise.

test("a machine's resources are registered without frames, and the program has its own again", async () => {
  const seen: [string, number][] = [];
  const transformations = [
    ({ name, props, opts }: { name: string; props: object; opts: object }) => {
      seen.push([name, Error.stackTraceLimit]);
      return { props, opts };
    },
  ];
  const before = Error.stackTraceLimit;
  await record(() => void new GpuCluster("lab", arguments_("rtx5070ti"), { transformations }), providers);
  const ofMachine = seen.filter(([name]) => name.includes("k8s-worker4") && !name.endsWith("-schematic"));
  expect(ofMachine.length).toBeGreaterThan(4); // itself, configuration, upgrade, node, smoke test
  expect(ofMachine.filter(([, limit]) => limit > 0)).toEqual([]);
  expect(Object.fromEntries(seen)).toMatchObject({ lab: before, "lab-ollama-deployment": before });
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
