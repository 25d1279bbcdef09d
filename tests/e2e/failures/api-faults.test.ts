import type { ApiFault } from "../runs/api-proxy";
import type { ApiFaultsRun } from "../runs/api-faults";
import { expectSucceeded } from "../support/labs";
import { runInOwnProcess } from "../support/own-process";

// A proxy in front of the API servers, and three updates of one stack through it. In tests/program/single-fault
// every call of the program fails once, with fakes. Here the API server, Pulumi and its Kubernetes provider are
// real.

let run: ApiFaultsRun;

beforeAll(async () => {
  ({ outcome: run } = await runInOwnProcess<ApiFaultsRun>("api-faults"));
});

interface Case {
  behaviour: string;
  fault: ApiFault;
  driverVersion: string;
  /** Steps of the update at which the API server fails. */
  steps: string[];
}

const cases: Case[] = [
  {
    behaviour: "refuses connections for a while",
    fault: "refuse",
    driverVersion: "570.211.01",
    steps: ["drain", "gate"],
  },
  {
    behaviour: "resets an answer in the middle",
    fault: "reset",
    driverVersion: "580.126.20",
    steps: ["preflight", "drain", "gate"],
  },
  {
    behaviour: "lets an answer wait forever",
    fault: "stall",
    driverVersion: "570.211.01",
    steps: ["preflight", "drain", "gate"],
  },
];

test.each(cases)("an update succeeds with an API server that $behaviour", (testCase) => {
  const { fault, driverVersion, steps } = testCase;
  const { faultySteps, clientFailures, reboots, drivers, cordoned } = run.updates[fault];
  expectSucceeded(run.updates[fault]);
  expect(faultySteps).toEqual(steps);
  expect(clientFailures).toBe(steps.length);
  expect(reboots).toEqual({ "worker-1": 1, "worker-2": 1 });
  expect(drivers).toEqual({ "worker-1": driverVersion, "worker-2": driverVersion });
  expect(cordoned).toEqual([]);
});

test("a further update without a fault changes nothing", () => {
  expect(run.unchangedUpdate).toEqual({ result: "succeeded", reboots: 0, changed: 0 });
});

test("the destroy leaves nothing", () => expect(run.leftovers).toEqual([]));
