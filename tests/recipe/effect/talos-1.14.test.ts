import {
  changedParts,
  effectOf,
  effectsOf,
  machineState,
  needsBoot,
  parseSpec,
  planCluster,
  waitsForBoot,
} from "../../../components/recipe";
import { customizationPath } from "../../../components/recipe/machine/containerd/containerd";
import { plannedMachines } from "../../../components/recipe/machine/planned-machine";

const file = (path: string, content: string): string =>
  `machine: {files: [{path: ${path}, op: create, permissions: 0o644, content: "${content}"}]}`;

const isolation = "apiVersion: v1alpha1\nkind: SecurityProfileConfig\nworkloadIsolation: true";

test("a change of containerd's file counts as a part separate from other files", () => {
  const before = file(customizationPath, "[a]");
  expect(changedParts(before, file(customizationPath, "[b]"))).toEqual([
    "machine.files.containerd",
  ]);
  expect(changedParts(before, `${before}\n---\nkind: SecurityProfileConfig\n`)).toEqual([
    "SecurityProfileConfig",
  ]);
  expect(changedParts(file("/var/a", "1"), file("/var/a", "2"))).toEqual(["machine.files"]);
  expect(changedParts(before, `# a comment\n${before}`)).toEqual([]);
});

// Columns: the changed part; whether Talos 1.13 refuses the change at runtime without a card; whether it waits for
// a boot on 1.13 with a card, on 1.14 without one, and on 1.14 with one.
test.each<[string, boolean, boolean, boolean, boolean]>([
  ["machine.sysctls.vm.swappiness", false, true, false, false],
  ["machine.files.containerd", true, true, false, false],
  ["machine.files", true, true, true, true],
  ["machine.kernel.modules", false, true, false, true],
  ["KernelModuleConfig/nvidia", false, true, false, true],
  ["SecurityProfileConfig", false, true, true, true],
  ["SysctlConfig", false, true, false, false],
  ["CRICustomizationConfig/zz", false, true, false, false],
  ["machine.install.image", false, false, false, false],
  ["UnattendedInstallConfig", false, false, false, false],
])(
  "a change of %s needs or awaits a reboot as on Talos 1.13 and 1.14",
  (part, refused, on13, plain, gpu) => {
    expect(needsBoot(part, "v1.13.0")).toBe(refused);
    expect(needsBoot(part, "v1.14.1")).toBe(false);
    expect(waitsForBoot(part, "v1.13.0", true)).toBe(on13);
    expect(waitsForBoot(part, "v1.13.0", false)).toBe(false);
    expect(waitsForBoot(part, "v1.14.1", false)).toBe(plain);
    expect(waitsForBoot(part, "v1.14.1", true)).toBe(gpu);
  },
);

describe("the preview of a machine on Talos 1.14", () => {
  const said = (machine: object) => ({
    talosVersion: "v1.14.1",
    driver: { branch: "production" },
    gpuOperator: { version: "v26.3.3" },
    machines: {
      "gpu-1": { address: "192.0.2.1", role: "worker", configuration: "adopted", ...machine },
    },
  });
  const planOf = (machine: object) => planCluster(parseSpec(said(machine)).spec!);
  const withCard = { gpus: [{ model: "RTX 5070 Ti" }] };
  const effect = (was: object, is: object) =>
    effectsOf(planOf({ ...withCard, ...was }), planOf({ ...withCard, ...is }))["gpu-1"]!;

  test("announces no reboot for a containerd option or a sysctl", () => {
    expect(effect({}, { containerd: { cdiSpecDirs: ["/var/cdi"] } })).toMatchObject({
      reboots: "no",
      because: "none is needed for machine.files.containerd added",
    });
    expect(effect({}, { patches: ["machine: {sysctls: {vm.swappiness: '1'}}"] }).reboots).toBe(
      "no",
    );
  });

  test.each([
    ["a parameter of a module", "yes", { moduleParameters: { nvidia: ["NVreg_A=1"] } }],
    ["another file", "only if", { patches: [file("/var/lib/owner.conf", "x")] }],
    ["workload isolation", "only if", { patches: [isolation] }],
  ])("says for %s that it reboots: %s", (_, word, is) => {
    expect(effect({}, is).reboots).toBe(word);
  });

  test("lists the changes that an Omni machine gets only at its next boot", () => {
    const omni = { configuration: "omni", uuid: "ce4d0d52-6c10-bdc9-746c-88aedd67681b" };
    const stateOf = (more: object) => {
      const plan = planCluster(
        parseSpec({ ...said({ ...withCard, ...omni, ...more }), clusterName: "frank" }).spec!,
      );
      return machineState(plannedMachines(plan)[0]!);
    };
    const made = effectOf(stateOf({}), stateOf({ patches: [file("/var/lib/owner.conf", "x")] }));
    expect(made.because).toContain(
      "the change of machine.files takes effect at the machine's next boot",
    );
  });
});
