import { schematics } from "../fakes";
import { setupUpgrade, STAGED } from "../setup";

test("a requested reboot reboots a machine with a paused boot once", async () => {
  const { machine, run } = setupUpgrade({ reboots: true });
  Object.assign(machine, {
    active: "broken",
    persistent: STAGED,
    stageName: "booting",
    unmetConditions: ["services"],
    bootProblems: ["writeUserFiles failed, rebooting in 35 minutes: already exists"],
    talosVersion: "v1.12.6",
    schematicId: schematics.gpu,
  });
  machine.afterCall = (call) => {
    if (call === "reboot") Object.assign(machine, { bootProblems: [], unmetConditions: [] });
  };
  const result = await run();
  expect(result.rebooted).toBe(true);
  expect(machine.calls).toEqual(["reboot"]);
});
