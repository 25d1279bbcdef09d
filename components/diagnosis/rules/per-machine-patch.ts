import { customizationPath } from "../../recipe/machine/containerd/containerd";
import { fixIds } from "../fix-ids";
import type { Observations } from "../observations";
import type { Evidence } from "../evidence";
import type { Rule } from "./rule";

/** A machine that does not boot to its end is a node without anything: whatever else is seen only follows from that. */
export const perMachinePatch: Rule = {
  fix: "perMachinePatch",
  sign: partTwice,
  causes: fixIds.filter((fix) => fix !== "perMachinePatch"),
};

/**
 * Either says it: the configuration in force (who may read it), or what Talos logs where it pauses the boot. Source: talos,
 * v1alpha1_sequencer_tasks.go, pauseOnFailure; etcd-file resources are made once, injectCRIConfigPatch.
 */
function partTwice(seen: Observations): Evidence[] {
  return (seen.machines ?? []).flatMap(({ name, stage, bootErrors = [], repeatedFiles = [] }) => {
    const logged = bootErrors.filter((line) => /EtcFileSpecs\S*\(.*20-customization\.part.*already exists/.test(line));
    return [
      ...(repeatedFiles.includes(customizationPath)
        ? [`${name}: its configuration has ${customizationPath} more than once${stage ? `; it is ${stage}` : ""}`]
        : []),
      ...logged.map((line) => `${name}: ${line}`),
    ].map((line) => ({ node: name, line }));
  });
}
