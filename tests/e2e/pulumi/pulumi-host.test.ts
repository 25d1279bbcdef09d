import { assertOk, runLab } from "../support/labs";

// The program runs in a checkout and a process of its own, as Pulumi's Node host starts it: by the SDK's cmd/run.

test(
  "Pulumi's own host previews a stack, brings it up, finds it unchanged, and takes it down",
  async () => {
    const run = await runLab(["--stack", "aarhus-h100", "--preview", "--updates", "2", "--host", "pulumi"]);
    assertOk(run);
    const [first, second] = run.report.updates;
    expect(run.report.previews).toMatchObject([{ result: "succeeded", changes: first!.changes, machineRequests: 0 }]);
    // The program that a preview starts gets to see the state that only the engine has.
    expect(run.report.previews[0]!.foretold["aarhus-h100"]).toMatch(
      /^reboots: only if it does not run Talos v1\.11\.5/,
    );
    expect(second).toMatchObject({ result: "succeeded", machineRequests: 0 });
    expect(second!.changes).toMatchObject({ create: 0, update: 0, replace: 0, delete: 0 });
    expect(run.report.machines["aarhus-h100"]).toMatchObject({ reboots: 1, allocatable: { "nvidia.com/gpu": "2" } });
    expect(run.report.left).toEqual([]);
  },
  10 * 60_000,
);
