import type { Check } from "./check";
import { parseTalosVersion } from "../facts/version";

/** The upgrade is one minor forward at most. */
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
        return [
          {
            field,
            problem: `"${text}" is not a release of Talos`,
            why: "the step to the wanted release cannot be told",
            remedy: "write what `talosctl version` prints, or leave it out",
          },
        ];
      if (running.text !== text) {
        return [
          {
            field,
            problem: `"${text}" lacks the leading v`,
            why: "machines report their release with it, so a preview would foretell an upgrade to the same release",
            remedy: `write ${running.text}`,
          },
        ];
      }
      const step = target.minor - running.minor;
      if (step > 1) {
        return [
          {
            field,
            problem: `${text} to ${spec.talosVersion} skips ${step === 2 ? "a minor" : `${step - 1} minors`}`,
            why: "Talos migrates its state from the minor before only; a jump may leave a machine that does not boot",
            remedy: `go to the last release of v1.${running.minor + 1} first`,
          },
        ];
      }
      if (step < 0) {
        return [
          {
            field,
            problem: `${text} to ${spec.talosVersion} goes back ${step === -1 ? "a minor" : `${-step} minors`}`,
            why: "the older Talos may not read the state and configuration that the newer one wrote",
            remedy: `take a release of v1.${running.minor} or newer`,
          },
        ];
      }
      return [];
    });
  },
};
