import { upgrade } from "../../../components/machine/program/upgrade/upgrade";
import {
  describeEffect,
  effectOfLook,
  effectsOf,
  findingsOf,
  needsBoot,
  parseSpec,
  partsOf,
  machineState,
  planCluster,
  type Plan,
  refusalOf,
} from "../../../components/recipe";
import type { MachineEffect } from "../../../components/recipe/effect/effect";
import { plannedMachines } from "../../../components/recipe/machine/planned-machine";
import { schematics } from "../../machine/program/fakes";
import { setup } from "../../machine/program/setup";
import { edited, edits, type Said } from "../../support/edits";
import { planOf } from "../../support/plans";
import { readStackFile } from "../../../stacks/stack-file";
import { fixture, table } from "../../support/table";

function planned(said: Said): Plan {
  expect(findingsOf(said)).toEqual([]);
  return planCluster(parseSpec(said).spec!);
}

describe.each(edits)("$name of $stack", ({ stack, change, reboots }) => {
  const before = planOf(stack);
  const after = planned(edited({ stack, change }));
  const effects = effectsOf(before, after);

  test("the word", () => {
    expect(Object.fromEntries(Object.entries(effects).map(([name, effect]) => [name, effect.reboots]))).toEqual(
      reboots,
    );
    for (const { because } of Object.values(effects)) expect(because).not.toBe("");
  });

  // The machines of Omni's and those that a stack installs get their configuration by others than the upgrade program. Of one that
  // reboots "only if", the plan leaves the answer to what the program sees.
  const byProgram = after.machines.filter(
    ({ name, configuration }) => configuration !== "omni" && !after.spec.bootstrap && reboots[name] !== "only if",
  );
  for (const { name } of byProgram)
    test(`the upgrade program agrees on ${name}`, async () => {
      const [was, is] = [before, after].map((plan) => plan.machines.find((machine) => machine.name === name)!);
      const { machine, bench, wanted } = setup();
      // The machine is what the update before has left.
      machine.talosVersion = was!.talosVersion;
      machine.schematicId = schematics.gpu;
      machine.active = [...was!.patches, generated(before)].join("---\n");
      machine.persistent = [...is!.patches, generated(after)].join("---\n");
      const [old, fresh] = [partsOf(was!.patches), partsOf(is!.patches)];
      machine.needsBoot = [...new Set([...old.keys(), ...fresh.keys()])].some(
        (part) =>
          JSON.stringify(old.get(part)) !== JSON.stringify(fresh.get(part)) && needsBoot(part, is!.talosVersion),
      );
      const { rebooted } = await upgrade(
        {
          ...wanted,
          machine: name,
          talosVersion: is!.talosVersion,
          schematicId: is!.schematicId === was!.schematicId ? schematics.gpu : schematics.other,
          installerImage: `factory.talos.dev/metal-installer/${is!.schematicId === was!.schematicId ? schematics.gpu : schematics.other}:${is!.talosVersion}`,
          modules: is!.kernelModules.map((module) => module.name),
          driverVersion: "570.211.01", // the only one that the fake machine has
        },
        { ...bench, clientVersion: is!.talosVersion },
      );
      expect(rebooted).toBe(effects[name]!.reboots === "yes");
    });
});

/** What stands for the part of an owned configuration that Talos generates: it changes with these. */
function generated({ spec }: Plan): string {
  if (!Object.values(spec.machines).some(({ configuration }) => configuration === "owned")) return "";
  const { clusterName, clusterEndpoint, kubernetesVersion } = spec;
  return JSON.stringify({ kind: "Generated", clusterName, clusterEndpoint, kubernetesVersion });
}

interface Updates extends Partial<MachineEffect> {
  name: string;
  stack: string;
  was?: object | null;
  is?: object;
  reboots: MachineEffect["reboots"];
  because: string;
}
const columns = ["name", "stack", "was", "is", "reboots", "because", "drained", "awayForAtMost"] as const;
const updates = table<Updates>(fixture("effects.yaml"), columns).map(([, row]) => row);

test.each(updates)("of $stack, $name", ({ stack, was = {}, is = {}, name: _, ...said }) => {
  const before = was === null ? undefined : planned(edited({ stack, change: was }));
  for (const effect of Object.values(effectsOf(before, planned(edited({ stack, change: is })))))
    expect(effect).toMatchObject({ ...said, because: expect.stringMatching(said.because) });
});

const stateOf = (stack: string, talosVersion: string): ReturnType<typeof machineState> => {
  const plan = planned({ ...(readStackFile(stack) as Said), talosVersion });
  return machineState(plannedMachines(plan)[0]!);
};

test("a machine of which the stack says nothing new, and which the program looks at, reboots on a condition", () => {
  expect(describeEffect(effectOfLook(stateOf("rtx5070ti", "v1.12.6")))).toBe(
    "reboots: only if it is not what the stack says already (the update before failed, or it is looked at with another credential or program); it is then drained for at most 5m, and takes no pods for at most 45m",
  );
});

test.each<[string, string, unknown, RegExp | undefined]>([
  [
    "rtx5070ti",
    "v1.12.6",
    "v1.12.7",
    /^machines\.gpu\.talosVersion: the machine runs v1\.12\.7, newer .*; Talos does not support downgrades/,
  ],
  ["rtx5070ti", "v1.12.7", "v1.12.6", undefined],
  ["rtx5070ti", "v1.12.6", "v1.10.9", /2 minor releases in one upgrade/],
  // No update has ended well, so nothing is known of what it runs.
  ["rtx5070ti", "v1.12.6", undefined, undefined],
  ["frank", "v1.12.6", "v1.12.7", undefined],
])(
  "%s, wanted with %s, seen with %s: refused at preview where that is known to be wrong",
  (stack, wanted, runs, words) => {
    const refused = refusalOf("gpu", runs, stateOf(stack, wanted));
    if (words === undefined) expect(refused).toBeUndefined();
    else expect(refused).toMatch(words);
  },
);
