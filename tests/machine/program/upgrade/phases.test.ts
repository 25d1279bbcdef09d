import { upgradePhases } from "../../../../components/machine/program/upgrade/phases";
import { killedPhases } from "../../../e2e/runs/faults-phases";
import { schematics } from "../fakes";
import { setup } from "../setup";

// The lab kills an upgrade in each phase of the list: one that no upgrade has would never be killed, and say nothing.
test("every phase of the list is one of some upgrade's, in the order of the list", async () => {
  const live = setup({ modules: [], driverVersion: undefined, extensionServices: [], schematicId: schematics.plain });
  live.machine.talosVersion = "v1.12.6"; // only a configuration is staged
  const runs = [setup(), setup({ installs: true }), live];
  const seen = new Set<string>();
  for (const { run } of runs) {
    const names = (await run()).phases.map(({ name }) => name);
    expect(names).toEqual(upgradePhases.filter((phase) => names.includes(phase)));
    names.forEach((name) => seen.add(name));
  }
  expect(upgradePhases.filter((phase) => !seen.has(phase))).toEqual([]);
});

test("those at which the lab kills the program are the phases of a machine with a card, in its cluster already", async () => {
  const { phases } = await setup().run();
  expect(killedPhases).toEqual(phases.map(({ name }) => name));
});
