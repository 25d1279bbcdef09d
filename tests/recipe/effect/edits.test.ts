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
import { plannedMachines } from "../../../components/recipe/machine/planned-machine";
import { schematics } from "../../machine/program/fakes";
import { setup } from "../../machine/program/setup";
import { edited, edits, type Said } from "../../support/edits";
import { planOf } from "../../support/plans";
import { stackSpec } from "../../support/stacks";

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

// The patch of Talos' own documentation declares the modules, and ours then declares none.
test.each(["rtx5070ti", "velaryon"])(
  "of %s, a parameter of a module that its own patch declares needs a boot",
  (stack) => {
    const said = (parameter: string): Plan => {
      const { talosVersion, machines, ...rest } = structuredClone(stackSpec(stack)) as Said;
      const [name] = Object.keys(machines) as [string];
      const modules = ["nvidia_uvm", "nvidia_drm", "nvidia_modeset"].map((module) => `{name: ${module}}`).join(", ");
      const patch = `machine: {kernel: {modules: [{name: nvidia, parameters: [${parameter}]}, ${modules}]}}\n`;
      machines[name].patches = [...(machines[name].patches ?? []), patch];
      return planned({ ...rest, talosVersion, machines });
    };
    const [effect] = Object.values(
      effectsOf(said("NVreg_OpenRmEnableUnsupportedGpus=0"), said("NVreg_OpenRmEnableUnsupportedGpus=1")),
    );
    expect(effect).toMatchObject({ reboots: "yes", because: "machine.kernel.modules changed" });
  },
);

test.each(["frank", "modern"])("of %s, a parameter of a module is taken live, and waits for a boot", (stack) => {
  const said = (parameter: string): Plan => {
    const { patches = [], ...rest } = structuredClone(stackSpec(stack)) as Said;
    const modules = ["nvidia_uvm", "nvidia_drm", "nvidia_modeset"].map((module) => `{name: ${module}}`).join(", ");
    const patch = `machine: {kernel: {modules: [{name: nvidia, parameters: [${parameter}]}, ${modules}]}}\n`;
    return planned({ ...rest, patches: [...patches, patch] });
  };
  const effects = effectsOf(said("NVreg_A=0"), said("NVreg_A=1"));
  for (const { reboots, because } of Object.values(effects)) {
    expect(reboots).toBe("no");
    expect(because).toMatch(/^none is needed for machine\.kernel\.modules changed; .*at the machine's next boot$/);
  }
});

/** What stands for the part of an owned configuration that Talos generates: it changes with these. */
function generated({ spec }: Plan): string {
  if (!Object.values(spec.machines).some(({ configuration }) => configuration === "owned")) return "";
  const { clusterName, clusterEndpoint, kubernetesVersion } = spec;
  return JSON.stringify({ kind: "Generated", clusterName, clusterEndpoint, kubernetesVersion });
}

describe("an update without a stack before it", () => {
  test("reboots only a machine that is not like that yet", () => {
    expect(effectsOf(undefined, planOf("velaryon"))["velaryon"]).toMatchObject({
      reboots: "only if",
      because: expect.stringMatching(
        /^it does not run Talos v1\.11\.1 with schematic [0-9a-f]{12} and this configuration/,
      ),
      drained: "for at most 5m",
      awayForAtMost: "45m",
    });
  });

  test("installs what waits in maintenance mode", () => {
    const { control, gpu } = effectsOf(undefined, planOf("modern"));
    expect([control!.reboots, gpu!.reboots]).toEqual(["yes", "yes"]);
  });

  test("knows what the stack says of the running release", () => {
    const said = stackSpec("velaryon") as Said;
    said["machines"].velaryon.runningVersion = "v1.10.9";
    const { velaryon } = effectsOf(undefined, planned(said));
    expect(velaryon).toMatchObject({ reboots: "yes", because: "it goes from Talos v1.10.9 to v1.11.1" });
  });
});

test("of an owned machine a release that it no longer runs may change what Talos generates", () => {
  const said = (runningVersion?: string): Said => {
    const stack = structuredClone(stackSpec("rtx5070ti")) as Said;
    stack["talosVersion"] = "v1.13.0";
    stack["gpuOperator"].version = "v26.3.3";
    if (runningVersion !== undefined) stack["machines"]["k8s-worker4"].runningVersion = runningVersion;
    return stack;
  };
  const { "k8s-worker4": effect } = effectsOf(planned(said("v1.12.6")), planned(said()));
  expect(effect).toMatchObject({ reboots: "only if", because: expect.stringContaining("contract: v1.12 → v1.13") });
});

describe("reconcileToken", () => {
  const said = (stack: string, reconcileToken?: string): Plan =>
    planned({ ...(stackSpec(stack) as Said), ...(reconcileToken === undefined ? {} : { reconcileToken }) });

  test.each(["rtx5070ti", "velaryon", "frank"])("%s reboots only if it is not as it was left", (stack) => {
    for (const [before, after] of [
      [undefined, "one"],
      ["one", "two"],
      ["two", undefined],
    ] as const) {
      const [effect] = Object.values(effectsOf(said(stack, before), said(stack, after)));
      expect(effect).toMatchObject({
        reboots: "only if",
        because: `it is not as the last update has left it: reconcileToken: ${before ?? "(none)"} → ${after ?? "(none)"}`,
      });
    }
  });

  test("with a change that reboots anyway the word is yes", () => {
    const stack = { ...(stackSpec("rtx5070ti") as Said), reconcileToken: "one", talosVersion: "v1.12.7" };
    expect(effectsOf(said("rtx5070ti"), planned(stack))["k8s-worker4"]!.reboots).toBe("yes");
  });
});

const stateOf = (stack: string, talosVersion: string): ReturnType<typeof machineState> => {
  const plan = planned({ ...(stackSpec(stack) as Said), talosVersion });
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
