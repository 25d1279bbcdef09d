import type { ApiFault } from "../runs/api-proxy";
import type { ApiFaultsRun } from "../runs/api-faults";
import { runApart } from "../support/apart";

// A proxy in front of the API servers, and three updates of one stack through it. In tests/program/single-fault
// every call of the program fails once, with fakes. Here the API server, Pulumi and its Kubernetes provider are
// real.

let ran: ApiFaultsRun;

beforeAll(async () => {
  ({ outcome: ran } = await runApart<ApiFaultsRun>("api-faults"));
});

test.each<[string, ApiFault, string, string[]]>([
  ["refuses connections for a while", "refuse", "570.211.01", ["drain", "gate"]],
  ["resets an answer in the middle", "reset", "580.126.20", ["preflight", "drain", "gate"]],
  ["lets an answer wait forever", "stall", "570.211.01", ["preflight", "drain", "gate"]],
])("an update succeeds with an API server that %s", (_, kind, driver, steps) => {
  const { result, diagnostics, struck, felt, reboots, drivers, cordoned } = ran.updates[kind];
  expect([result, result === "succeeded" ? "" : diagnostics.join("\n")]).toEqual(["succeeded", ""]);
  expect(struck).toEqual(steps);
  expect(felt).toBe(steps.length);
  expect(reboots).toEqual({ "worker-1": 1, "worker-2": 1 });
  expect(drivers).toEqual({ "worker-1": driver, "worker-2": driver });
  expect(cordoned).toEqual([]);
});

test("a further update without a fault changes nothing", () => {
  expect(ran.again).toEqual({ result: "succeeded", reboots: 0, changed: 0 });
});

test("the destroy leaves nothing", () => expect(ran.left).toEqual([]));
