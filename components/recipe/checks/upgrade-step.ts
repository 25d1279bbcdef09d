import type { Check } from "./check";
import { upgradePathFault } from "../effect/upgrade-path";
import { parseTalosVersion } from "../facts/version";

/** The upgrade is one minor forward at most, and never back: by the rule that the program applies to the machine. */
export const upgradeStep: Check = {
  id: "upgrade-step",
  source: "siderolabs/docs, upgrading-talos: one minor at a time",
  find: ({ spec, machines }) => {
    const target = parseTalosVersion(spec.talosVersion);
    if (!target) return [];
    return machines.flatMap((machine) => {
      const text = machine.spec.runningVersion;
      if (text === undefined) return [];
      const field = `${machine.field}.runningVersion`;
      const running = parseTalosVersion(text);
      if (!running)
        return {
          field,
          problem: `"${text}" is not a release of Talos`,
          why: "the step to the wanted release cannot be told",
          remedy: "write what `talosctl version` prints, or leave it out",
        };
      if (running.text !== text)
        return {
          field,
          problem: `"${text}" lacks the leading v`,
          why: "machines report their release with the v, so a preview would announce an upgrade to the release that already runs",
          remedy: `write ${running.text}`,
        };
      const fault = upgradePathFault(running.text, target.text);
      // Patch releases of a cluster of Omni's are Omni's to change, in either direction; our program does not do it.
      const isOmnis = machine.spec.configuration === "omni" && running.minor === target.minor;
      return fault && !isOmnis ? { field, ...fault } : [];
    });
  },
};
