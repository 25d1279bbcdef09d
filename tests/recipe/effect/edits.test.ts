import { upgrade } from "../../../components/program/upgrade/upgrade";
import {
  describeEffect,
  effectOfInspection,
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
import { factoryImage, schematics } from "../../program/fakes";
import { setupUpgrade } from "../../program/setup";
import { editedStack, edits, type StackConfig } from "../../support/edits";
import { planOf } from "../../support/plans";
import { readStackFile } from "../../../stacks/stack-file";

/** The plan of a stack. Fails if the checks find something. */
function planWithoutFindings(stack: StackConfig): Plan {
  expect(findingsOf(stack)).toEqual([]);
  return planCluster(parseSpec(stack).spec!);
}

describe.each(edits)("the edit $name of the stack $stack", ({ stack, change, reboots }) => {
  const previousPlan = planOf(stack);
  const newPlan = planWithoutFindings(editedStack({ stack, change }));
  const effects = effectsOf(previousPlan, newPlan);

  test("has the expected plan of reboots for each machine", () => {
    expect(
      Object.fromEntries(Object.entries(effects).map(([name, effect]) => [name, effect.reboots])),
    ).toEqual(reboots);
    for (const { because } of Object.values(effects)) expect(because).not.toBe("");
  });

  // The upgrade program configures neither machines of Omni nor those that a stack installs. Whether a machine
  // reboots "only if", the program decides while it runs.
  const machinesOfProgram = newPlan.machines.filter(
    ({ name, configuration }) =>
      configuration !== "omni" && !newPlan.spec.bootstrap && reboots[name] !== "only if",
  );
  for (const { name } of machinesOfProgram)
    test(`lets the upgrade program reboot ${name} exactly if the plan says yes`, async () => {
      const machineIn = (plan: Plan) => plan.machines.find((machine) => machine.name === name)!;
      const previousMachine = machineIn(previousPlan);
      const newMachine = machineIn(newPlan);
      const { machine, context, task } = setupUpgrade();
      // The previous update left the machine in this state.
      machine.talosVersion = previousMachine.talosVersion;
      machine.schematicId = schematics.gpu;
      machine.active = [...previousMachine.patches, generatedPart(previousPlan)].join("---\n");
      machine.persistent = [...newMachine.patches, generatedPart(newPlan)].join("---\n");
      const previousParts = partsOf(previousMachine.patches);
      const newParts = partsOf(newMachine.patches);
      const changedParts = [...new Set([...previousParts.keys(), ...newParts.keys()])].filter(
        (part) => JSON.stringify(previousParts.get(part)) !== JSON.stringify(newParts.get(part)),
      );
      machine.needsBoot = changedParts.some((part) => needsBoot(part, newMachine.talosVersion));
      const newSchematicId =
        newMachine.schematicId === previousMachine.schematicId ? schematics.gpu : schematics.other;
      const { rebooted } = await upgrade(
        {
          ...task,
          machine: name,
          talosVersion: newMachine.talosVersion,
          schematicId: newSchematicId,
          installerImage: factoryImage(newMachine.talosVersion, newSchematicId),
          modules: newMachine.kernelModules.map((module) => module.name),
          driverVersion: "570.211.01", // the only driver of the fake machine
        },
        { ...context, clientVersion: newMachine.talosVersion },
      );
      expect(rebooted).toBe(effects[name]!.reboots === "yes");
    });
});

/** Stands for the part of an owned configuration that Talos generates: it changes with these fields. */
function generatedPart({ spec }: Plan): string {
  if (!Object.values(spec.machines).some(({ configuration }) => configuration === "owned"))
    return "";
  const { clusterName, clusterEndpoint, kubernetesVersion } = spec;
  return JSON.stringify({ kind: "Generated", clusterName, clusterEndpoint, kubernetesVersion });
}

/** Two successive updates of a stack, and the effect of the second one on its machines. */
interface Updates extends Omit<Partial<MachineEffect>, "because"> {
  name: string;
  stack: string;
  /**
   * JSON merge patch of the stack in the first update; null: there was no first update. Default: the stack itself.
   */
  before?: object | null;
  /** JSON merge patch of the stack in the second update. Default: the stack itself. */
  after?: object;
  reboots: MachineEffect["reboots"];
  /** Pattern of the reason. */
  because: RegExp;
}

/**
 * A machine's own patch, as in Talos' documentation: it declares NVIDIA's modules, so the package's patch declares
 * none.
 */
const modulesWith = (parameter: string): string =>
  `machine: {kernel: {modules: [{name: nvidia, parameters: [${parameter}]}, ` +
  "{name: nvidia_uvm}, {name: nvidia_drm}, {name: nvidia_modeset}]}}";

const updateCases: Updates[] = [
  {
    name: "a parameter of a module that the machine's own patch declares",
    stack: "rtx5070ti",
    before: {
      machines: {
        "k8s-worker4": { patches: [modulesWith("NVreg_OpenRmEnableUnsupportedGpus=0")] },
      },
    },
    after: {
      machines: {
        "k8s-worker4": { patches: [modulesWith("NVreg_OpenRmEnableUnsupportedGpus=1")] },
      },
    },
    reboots: "yes",
    because: /^machine\.kernel\.modules changed$/,
  },
  {
    name: "a parameter of a module that the machine's own patch declares",
    stack: "velaryon",
    before: {
      machines: { velaryon: { patches: [modulesWith("NVreg_OpenRmEnableUnsupportedGpus=0")] } },
    },
    after: {
      machines: { velaryon: { patches: [modulesWith("NVreg_OpenRmEnableUnsupportedGpus=1")] } },
    },
    reboots: "yes",
    because: /^machine\.kernel\.modules changed$/,
  },
  {
    name: "a module parameter that Talos accepts without a reboot",
    stack: "frank",
    before: { patches: [modulesWith("NVreg_A=0")] },
    after: { patches: [modulesWith("NVreg_A=1")] },
    reboots: "no",
    because:
      /^no reboot is needed for machine\.kernel\.modules changed; .*at the machine's next boot$/,
  },
  {
    name: "a module parameter that Talos accepts without a reboot",
    stack: "modern",
    before: { patches: [modulesWith("NVreg_A=0")] },
    after: { patches: [modulesWith("NVreg_A=1")] },
    reboots: "no",
    because:
      /^no reboot is needed for machine\.kernel\.modules changed; .*at the machine's next boot$/,
  },
  {
    name: "a first update reboots only a machine that differs from the stack",
    stack: "velaryon",
    before: null,
    reboots: "only if",
    because:
      /^it does not already run Talos v1\.11\.1 with schematic [0-9a-f]{12} and the stack's configuration/,
    drained: "for at most 5m",
    awayForAtMost: "45m",
  },
  {
    name: "a first update of a cluster in maintenance mode, booted from a medium or from a disk",
    stack: "modern",
    before: null,
    reboots: "only if",
    because: /its disk does not already contain/,
  },
  {
    name: "a first update with runningVersion in the stack",
    stack: "velaryon",
    before: null,
    after: { machines: { velaryon: { runningVersion: "v1.10.9" } } },
    reboots: "yes",
    because: /^it goes from Talos v1\.10\.9 to v1\.11\.1$/,
  },
  {
    name: "a first update over three minors",
    stack: "velaryon",
    before: null,
    after: { machines: { velaryon: { runningVersion: "v1.8.4" } } },
    reboots: "yes",
    because:
      /^it goes from Talos v1\.8\.4 to v1\.11\.1; 3 reboots: v1\.8\.4 → v1\.9\.6 → v1\.10\.9 → v1\.11\.1 \(each release in between .*no pod gets a GPU/,
    awayForAtMost: "3 times 45m, plus the image pulls between the reboots",
  },
  {
    name: "an owned machine with a new release, whose generated configuration may change",
    stack: "rtx5070ti",
    before: {
      talosVersion: "v1.13.0",
      gpuOperator: { version: "v26.3.3" },
      machineDefaults: null,
      machines: { "k8s-worker4": { runningVersion: "v1.12.6" } },
    },
    after: { talosVersion: "v1.13.0", gpuOperator: { version: "v26.3.3" }, machineDefaults: null },
    reboots: "only if",
    because: /contract: v1.12 → v1.13/,
  },
  {
    name: "a new reconcileToken",
    stack: "rtx5070ti",
    after: { reconcileToken: "one" },
    reboots: "only if",
    because:
      /^its state differs from the state after the last update \(checked because of reconcileToken: \(none\) → one\)$/,
  },
  {
    name: "a new reconcileToken",
    stack: "velaryon",
    after: { reconcileToken: "one" },
    reboots: "only if",
    because:
      /^its state differs from the state after the last update \(checked because of reconcileToken: \(none\) → one\)$/,
  },
  {
    name: "a new reconcileToken",
    stack: "frank",
    after: { reconcileToken: "one" },
    reboots: "only if",
    because:
      /^its state differs from the state after the last update \(checked because of reconcileToken: \(none\) → one\)$/,
  },
  {
    name: "a changed reconcileToken",
    stack: "rtx5070ti",
    after: { reconcileToken: "two" },
    reboots: "only if",
    because: /one → two\)$/,
    before: { reconcileToken: "one" },
  },
  {
    name: "a changed reconcileToken",
    stack: "velaryon",
    after: { reconcileToken: "two" },
    reboots: "only if",
    because: /one → two\)$/,
    before: { reconcileToken: "one" },
  },
  {
    name: "a changed reconcileToken",
    stack: "frank",
    after: { reconcileToken: "two" },
    reboots: "only if",
    because: /one → two\)$/,
    before: { reconcileToken: "one" },
  },
  {
    name: "a reconcileToken that is removed",
    stack: "rtx5070ti",
    after: {},
    reboots: "only if",
    because: /two → \(none\)\)$/,
    before: { reconcileToken: "two" },
  },
  {
    name: "a reconcileToken that is removed",
    stack: "velaryon",
    after: {},
    reboots: "only if",
    because: /two → \(none\)\)$/,
    before: { reconcileToken: "two" },
  },
  {
    name: "a reconcileToken that is removed",
    stack: "frank",
    after: {},
    reboots: "only if",
    because: /two → \(none\)\)$/,
    before: { reconcileToken: "two" },
  },
  {
    name: "a reconcileToken next to a change that reboots anyway",
    stack: "rtx5070ti",
    after: { reconcileToken: "one", talosVersion: "v1.12.7" },
    reboots: "yes",
    because: /^talosVersion: v1\.12\.6 → v1\.12\.7$/,
  },
];

test.each(updateCases)(
  "the preview of $stack has the expected reboot and reason: $name",
  ({ stack, before = {}, after = {}, name: _, because, ...expectedEffect }) => {
    const planAfter = (change: object) => planWithoutFindings(editedStack({ stack, change }));
    const previousPlan = before === null ? undefined : planAfter(before);
    const effects = Object.values(effectsOf(previousPlan, planAfter(after)));
    expect(effects).not.toEqual([]);
    for (const effect of effects)
      expect(effect).toMatchObject({ ...expectedEffect, because: expect.stringMatching(because) });
  },
);

/** The state that the update keeps of the stack's first machine. */
const stateOf = (stack: string, talosVersion: string): ReturnType<typeof machineState> => {
  const plan = planWithoutFindings({ ...(readStackFile(stack) as StackConfig), talosVersion });
  return machineState(plannedMachines(plan)[0]!);
};

test("an unchanged machine that the program inspects reboots only on a condition", () => {
  expect(describeEffect(effectOfInspection(stateOf("rtx5070ti", "v1.12.6")))).toBe(
    "reboots: only if it differs from the stack (the update checks this because the last update failed, or " +
      "because the credential or the program has changed); it is then drained for at most 5m, and takes no pods for at most 45m",
  );
});

test.each<[stack: string, talosVersion: string, runningVersion: unknown, refusal: RegExp]>([
  [
    "rtx5070ti",
    "v1.12.6",
    "v1.12.7",
    /^machines\.gpu\.talosVersion: the machine runs v1\.12\.7, newer .*; Talos does not support downgrades/,
  ],
  [
    "rtx5070ti",
    "v1.12.6",
    "v1.10.9",
    /goes over v1\.11\.6, but Kubernetes 1\.35 does not run on v1\.11\.6/,
  ],
  ["rtx5070ti", "v1.12.6", "v1.6.9", /crosses 6 minor releases, but no release of 1\.7 is known/],
])(
  "a preview of %s with Talos %s, whose machine runs %s, is refused",
  (stack, talosVersion, runningVersion, refusal) =>
    expect(refusalOf("gpu", runningVersion, stateOf(stack, talosVersion))).toMatch(refusal),
);

test.each<[situation: string, stack: string, talosVersion: string, runningVersion: unknown]>([
  ["an older patch release", "rtx5070ti", "v1.12.7", "v1.12.6"],
  ["an unknown release, since no update has succeeded", "rtx5070ti", "v1.12.6", undefined],
  ["a newer release under Omni", "frank", "v1.12.6", "v1.12.7"],
])("a preview is not refused if the machine runs %s", (_, stack, talosVersion, runningVersion) =>
  expect(refusalOf("gpu", runningVersion, stateOf(stack, talosVersion))).toBeUndefined(),
);
