import { externalOf } from "./outside/external";
import { eraOf } from "./facts/talos-release";
import { envOf } from "./kubernetes/values";
import type { ClusterSpec } from "./spec/index";
import { valueAt } from "./mapping";

/** A note about a release of the stack's as one about what is outside. */
export function externalNote({ external }: ClusterSpec, note: string): string {
  return external === undefined ? note : note.replace(/\b(?:gpuOperator|devicePlugin)\.values/g, "external.values");
}

/**
 * What is not known of what something else installs, or has to be done there.
 *
 * @param crossing machines that run Talos ≤ 1.12 and get 1.13 or newer.
 */
export function externalNotes(spec: ClusterSpec, crossing: string[]): string[] {
  const outside = externalOf(spec);
  if (spec.external === undefined || outside === undefined) return [];
  const { read, values: said } = spec.external;
  const { kind, by = "its installer", release } = outside;
  const known = said !== undefined || read?.values !== undefined;
  const { chart, namespace, values } = release;
  const bare = valueAt(values, "runtimeClassName");
  return [
    `external: ${chart} in namespace ${namespace} is not this stack's: nothing of it is made, changed or removed here`,
    ...(read?.missing ?? []).map(
      (what) =>
        `external: ${what} is not among the files, so what it says is neither known nor judged; name it under external.files`,
    ),
    ...(known ? [] : ["external: its values are not known, and so not judged; name its files under external.files"]),
    ...(known && release.version === ""
      ? [
          "external: which release of the chart it is is not known, so whether it has these values is not judged; write external.version",
        ]
      : []),
    ...(known && kind === "devicePlugin" && (bare === undefined || bare === "" || bare === null)
      ? [
          "external.values.runtimeClassName is not said: the plugin finds the cards only where nvidia is the default runtime of its machine; else write `runtimeClassName: nvidia`, and have a RuntimeClass of that name with the handler nvidia",
        ]
      : []),
    ...(known &&
    kind === "gpuOperator" &&
    eraOf(spec.talosVersion) === "cdi" &&
    envOf(valueAt(values, "validator", "driver", "env"), "DISABLE_DEV_CHAR_SYMLINK_CREATION") !== "true"
      ? [
          "external.values.validator.driver.env does not set DISABLE_DEV_CHAR_SYMLINK_CREATION to true: where the validator cannot make links in /dev/char, every pod of the operator waits for it (cozystack#2323; Talos' documentation sets it)",
        ]
      : []),
    ...(crossing.length > 0
      ? [
          `${crossing.join(", ")}: from Talos ≤ 1.12 to ≥ 1.13, and the values of external are judged for the newer one; let ${by} apply them right before this update: from then until a machine is upgraded, no new pod gets a GPU there, and running pods keep theirs until the machine is drained`,
        ]
      : []),
  ];
}
