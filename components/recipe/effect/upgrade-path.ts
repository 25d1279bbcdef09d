import * as semver from "semver";
import type { Fault } from "../rules";

/** What is wrong with a step from one Talos release to another; undefined where Talos supports it. */
export function upgradePathFault(running: string, wanted: string): Fault | undefined {
  if (semver.lt(wanted, running)) {
    return {
      problem: `the machine runs ${running}, newer than the wanted ${wanted}`,
      why: "Talos does not support downgrades: its state may be of a newer format",
      remedy: `set talosVersion to ${running} or newer`,
    };
  }
  const minors = minorsBetween(running, wanted);
  if (minors <= 1) return undefined;
  const { major, minor } = semver.parse(running)!;
  return {
    problem: `${running} to ${wanted} is ${minors} minor releases in one upgrade`,
    why: "Talos supports one at a time: a skipped one leaves its migrations out",
    remedy: `upgrade to the last v${major}.${minor + 1} release first`,
  };
}

/** Minor releases from one to another; negative when it is older. Another major counts as a thousand. */
export function minorsBetween(from: string, to: string): number {
  const [a, b] = [semver.parse(from)!, semver.parse(to)!];
  return a.major === b.major ? b.minor - a.minor : (b.major - a.major) * 1000;
}
