import { machineFixes } from "../../components/diagnosis/known/machine";
import { systemOf } from "../../components/diagnosis/system";
import { customizationPath } from "../../components/recipe";

// Observed on Talos v1.13.0 and v1.14.1.
test.each([
  ["Talos v1.13.9", true, "v1.13.9"],
  ["Talos v1.14.1", false, "v1.14.1"],
  ["an unknown Talos release", true, undefined],
])("two items for containerd's part are a known cause on %s: %s", (_, isCause, talosVersion) => {
  const machine = {
    name: "gpu-1",
    repeatedFiles: [customizationPath],
    ...(talosVersion ? { talosVersion } : {}),
  };
  const observations = { machines: [machine] };
  const evidence = machineFixes.perMachinePatch.sign(
    observations,
    systemOf(observations, undefined),
  );
  expect(evidence).toHaveLength(isCause ? 1 : 0);
});
