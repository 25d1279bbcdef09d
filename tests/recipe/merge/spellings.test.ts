import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe";
import { ours } from "./ours";
import { said } from "./said";

test("a number is the text that Talos makes of it", () => {
  const live = "machine:\n  sysctls:\n    net.core.bpf_jit_harden: 1\n";
  expect(mergeConfiguration(live, ['machine:\n  sysctls:\n    net.core.bpf_jit_harden: "1"\n'])).toMatchObject({
    changed: false,
    configuration: live,
  });
});

test("a module with parameters of somebody's stays as it is", () => {
  const live =
    "machine:\n  kernel:\n    modules:\n      - name: nvidia\n        parameters: [NVreg_EnableGpuFirmware=1]\n";
  expect(mergeConfiguration(live, ["machine:\n  kernel:\n    modules:\n      - name: nvidia\n"])).toMatchObject({
    changed: false,
  });
});

test("a field that holds nothing takes ours, and holds nothing again", () => {
  const live = "machine:\n  files: null\n  sysctls: {}\n";
  const merged = mergeConfiguration(live, ours);
  expect(merged.conflicts).toEqual([]);
  expect(said(unmergeConfiguration(merged.configuration, merged.added))).toEqual(said(live));
});

test("a comment beside a value that is replaced stays, and comes back with the old value", () => {
  const live = "machine:\n    install:\n        image: old:1 # for the installer\n    registries: {}\n";
  const patch = "machine:\n  install: { image: new:1 }\n  registries: { mirrors: { a: { endpoints: [b] } } }\n";
  const merged = mergeConfiguration(live, [patch]);
  expect(merged.configuration).toBe(
    "machine:\n    install:\n        image: new:1 # for the installer\n    registries:\n        mirrors:\n            a:\n                endpoints:\n                    - b\n",
  );
  expect(unmergeConfiguration(merged.configuration, merged.added)).toBe(live);
});

test("permissions stay octal", () =>
  expect(mergeConfiguration("machine: {}\n", ours).configuration).toContain("permissions: 0o644"));

test("an empty configuration", () => {
  const merged = mergeConfiguration("", ["machine:\n  sysctls: { a: b }\n"]);
  expect(said(merged.configuration)).toEqual([{ machine: { sysctls: { a: "b" } } }]);
  expect(said(unmergeConfiguration(merged.configuration, merged.added))).toEqual([]);
});
