import { checkCluster, type MachineSpec } from "../../../components/recipe";
import { oneMachine } from "../stacks";

/** Checks that speak up on a patch of a worker with a GPU. */
const said = (patch: string, machine: Partial<MachineSpec> = {}, release = "v1.12.6"): string[] =>
  checkCluster(oneMachine(release, { gpus: [{ model: "L4" }], patches: [patch], ...machine })).map(
    (finding) => finding.check,
  );

test("a secret is never repeated", () => {
  const patches = ["machine:\n  token: abcdef.0123456789\n"];
  const findings = checkCluster(oneMachine("v1.12.6", { gpus: [{ model: "L4" }], patches }));
  expect(findings.map(({ check }) => check)).toEqual(["patch-secret"]);
  expect(JSON.stringify(findings)).not.toContain("0123456789");
});

test("a sysctl that agrees with ours is nobody's mistake", () => {
  const harden = (value: number): string => `machine:\n  sysctls:\n    net.core.bpf_jit_harden: ${value}\n`;
  expect(said(harden(1), {}, "v1.11.6")).toEqual([]);
  expect(said(harden(0), {}, "v1.11.6")).toEqual(["patch-sysctl"]);
  expect(said(harden(2))).toEqual([]); // from 1.12 on nothing of ours needs it
});

test("documents of a release that has them, on an adopted machine", () => {
  const spec = oneMachine("v1.14.0", {
    gpus: [{ model: "L4" }],
    patches: ["apiVersion: v1alpha1\nkind: SysctlConfig\nparams: { a: b }\n"],
  });
  expect(checkCluster(spec)).toEqual([]);
});

test("a patch of the cluster is judged by the release of each machine that it reaches", () => {
  const one = oneMachine("v1.14.0", { gpus: [{ model: "L4" }] });
  const ahead = { ...Object.values(one.machines)[0]!, address: "10.9.9.9", talosVersion: "v1.13.9" };
  const spec = { ...one, patches: ["apiVersion: v1alpha1\nkind: SysctlConfig\nparams: { a: b }\n"] };
  expect(checkCluster(spec)).toEqual([]);
  expect(checkCluster({ ...spec, machines: { ...spec.machines, old: ahead } })).toEqual([
    expect.objectContaining({
      check: "patch-schema",
      field: "patches[0]",
      why: expect.stringContaining("v1.13.9 of old"),
    }),
  ]);
});

test("an empty patch says nothing", () => expect(said("")).toEqual([]));
