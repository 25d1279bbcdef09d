import { upgrade } from "../../../components/machine/program/upgrade/upgrade";
import {
  effectsOf,
  findingsOf,
  needsBoot,
  parseSpec,
  partsOf,
  planCluster,
  type Plan,
} from "../../../components/recipe";
import { schematics } from "../../machine/program/fakes";
import { setup } from "../../machine/program/setup";
import { edited, edits, type Said } from "../../support/edits";
import { planOf } from "../../support/plans";
import { stackSpec } from "../../support/stacks";

function planned(said: Said): Plan {
  expect(findingsOf(said)).toEqual([]);
  return planCluster(parseSpec(said).spec!);
}

describe.each(edits)("$name of $stack", ({ stack, edit, reboots }) => {
  const before = planOf(stack);
  const after = planned(edited({ stack, edit }));
  const effects = effectsOf(before, after);

  test("the word", () => {
    expect(Object.fromEntries(Object.entries(effects).map(([name, effect]) => [name, effect.reboots]))).toEqual(
      reboots,
    );
    for (const { because } of Object.values(effects)) expect(because).not.toBe("");
  });

  // The machines of Omni's and those that a stack installs get their configuration by others than the upgrade program.
  const byProgram = after.machines.filter(({ configuration }) => configuration !== "omni" && !after.spec.bootstrap);
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
      const { reboots: word } = effects[name]!;
      if (word !== "only if") expect(rebooted).toBe(word === "yes");
    });
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

test.each([
  ["rtx5070ti", "no"],
  ["velaryon", "no"],
  ["frank", "yes"],
])("a machine that %s gives up reboots: %s", (stack, word) => {
  const before = planOf(stack);
  const after: Plan = { ...before, machines: [] };
  expect(Object.values(effectsOf(before, after)).map(({ reboots }) => reboots)).toEqual([word]);
});
