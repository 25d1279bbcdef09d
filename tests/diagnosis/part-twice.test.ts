import { machineFixes } from "../../components/diagnosis/known/machine";
import { systemOf } from "../../components/diagnosis/system";
import { customizationPath } from "../../components/recipe";

// Seen on Talos v1.13.0 and v1.14.1.
test.each([
  ["v1.13.9", 1],
  ["v1.14.1", 0],
  [undefined, 1],
])(
  "two items for containerd's part keep a machine on Talos %s from booting: %i",
  (talosVersion, count) => {
    const machine = {
      name: "gpu-1",
      repeatedFiles: [customizationPath],
      ...(talosVersion ? { talosVersion } : {}),
    };
    const seen = { machines: [machine] };
    const evidence = machineFixes.perMachinePatch.sign(seen, systemOf(seen, undefined));
    expect(evidence).toHaveLength(count);
  },
);
