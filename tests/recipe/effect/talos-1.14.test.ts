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

const filePatch = (path: string, content: string): string =>
  `machine: {files: [{path: ${path}, op: create, permissions: 0o644, content: "${content}"}]}`;

const isolationPatch = "apiVersion: v1alpha1\nkind: SecurityProfileConfig\nworkloadIsolation: true";

test("changedParts names containerd's file apart from other files, names an added document, and ignores comments", () => {
  const before = filePatch(customizationPath, "[a]");
  expect(changedParts(before, filePatch(customizationPath, "[b]"))).toEqual([
    "machine.files.containerd",
  ]);
  expect(changedParts(before, `${before}\n---\nkind: SecurityProfileConfig\n`)).toEqual([
    "SecurityProfileConfig",
  ]);
  expect(changedParts(filePatch("/var/a", "1"), filePatch("/var/a", "2"))).toEqual([
    "machine.files",
  ]);
  expect(changedParts(before, `# a comment\n${before}`)).toEqual([]);
});

// On 1.13, a change needs a boot if Talos refuses it at runtime.
test.each<
  [
    part: string,
    needsBootOn113: boolean,
    waitsOn113WithCard: boolean,
    waitsOn114WithoutCard: boolean,
    waitsOn114WithCard: boolean,
  ]
>([
  ["machine.sysctls.vm.swappiness", false, false, false, false],
  ["machine.kubelet.image", false, false, false, false],
  ["cluster.apiServer.image", false, false, false, false],
  ["machine.type", true, true, true, true],
  ["machine.files.containerd", true, true, false, false],
  ["machine.files", true, true, true, true],
  ["machine.kernel.modules", false, true, false, true],
  ["KernelModuleConfig/nvidia", false, true, false, true],
  ["SecurityProfileConfig", false, false, true, true],
  ["SysctlConfig", false, false, false, false],
  ["CRICustomizationConfig/zz", false, false, false, false],
  ["machine.install.image", false, false, false, false],
  ["UnattendedInstallConfig", false, false, false, false],
])(
  "for a change of %s, needsBoot and waitsForBoot agree with Talos 1.13 and 1.14",
  (part, needsBootOn113, waitsOn113WithCard, waitsOn114WithoutCard, waitsOn114WithCard) => {
    expect(needsBoot(part, "v1.13.0")).toBe(needsBootOn113);
    expect(needsBoot(part, "v1.14.1")).toBe(false);
    expect(waitsForBoot(part, "v1.13.0", true)).toBe(waitsOn113WithCard);
    expect(waitsForBoot(part, "v1.13.0", false)).toBe(false);
    expect(waitsForBoot(part, "v1.14.1", false)).toBe(waitsOn114WithoutCard);
    expect(waitsForBoot(part, "v1.14.1", true)).toBe(waitsOn114WithCard);
  },
);

describe("the preview of a machine on Talos 1.14", () => {
  const stackWith = (machine: object) => ({
    talosVersion: "v1.14.1",
    driver: { branch: "production" },
    gpuOperator: { version: "v26.3.3" },
    machines: {
      "gpu-1": { address: "192.0.2.1", role: "worker", configuration: "adopted", ...machine },
    },
  });
  const planOf = (machine: object) => planCluster(parseSpec(stackWith(machine)).spec!);
  const withCard = { gpus: [{ model: "RTX 5070 Ti" }] };
  const effectOfChange = (before: object, after: object) =>
    effectsOf(planOf({ ...withCard, ...before }), planOf({ ...withCard, ...after }))["gpu-1"]!;

  test("announces no reboot for a containerd option or a sysctl", () => {
    expect(effectOfChange({}, { containerd: { cdiSpecDirs: ["/var/cdi"] } })).toMatchObject({
      reboots: "no",
      because: "no reboot is needed for machine.files.containerd added",
    });
    expect(
      effectOfChange({}, { patches: ["machine: {sysctls: {vm.swappiness: '1'}}"] }).reboots,
    ).toBe("no");
  });

  test.each([
    ["a module's parameter", "yes", { moduleParameters: { nvidia: ["NVreg_A=1"] } }],
    ["another file", "only if", { patches: [filePatch("/var/lib/owner.conf", "x")] }],
    ["workload isolation", "only if", { patches: [isolationPatch] }],
  ])("says whether a change of %s reboots it: %s", (_, reboots, change) => {
    expect(effectOfChange({}, change).reboots).toBe(reboots);
  });

  test("lists the changes that an Omni machine gets only at its next boot", () => {
    const omni = { configuration: "omni", uuid: "ce4d0d52-6c10-bdc9-746c-88aedd67681b" };
    const stateOf = (machineFields: object) => {
      const plan = planCluster(
        parseSpec({
          ...stackWith({ ...withCard, ...omni, ...machineFields }),
          clusterName: "frank",
        }).spec!,
      );
      return machineState(plannedMachines(plan)[0]!);
    };
    const change = effectOf(
      stateOf({}),
      stateOf({ patches: [filePatch("/var/lib/owner.conf", "x")] }),
    );
    expect(change.because).toContain(
      "the change of machine.files takes effect at the machine's next boot",
    );
  });
});
