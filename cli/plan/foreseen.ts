import { durationValue } from "../../components/recipe/rules/duration";
import { type Bar, type Timeline, withWaits } from "../timeline";
import type { Comparison } from "./comparison";

/** Machines of a wave that have a row each. */
const drawn = 8;

/**
 * The update over time if every step took as long as it may: machines that reboot, wave by wave, what offers the GPUs, and
 * the smoke tests. Undefined where no machine may reboot.
 */
export function foreseen(comparison: Comparison): Timeline | undefined {
  const { machines, waves, wavesAhead, limits, release } = comparison;
  const seconds = (limit: keyof Comparison["limits"]): number => (durationValue(limits[limit]) ?? 0) / 1000;
  const bars: Bar[] = [];
  let now = 0;
  const add = (section: string, label: string, part: Bar["part"], from: number, lasts: number): number => {
    if (lasts > 0) bars.push({ section, label, part, from, to: from + lasts });
    return from + lasts;
  };
  const exposed = (): void => {
    now = add(release.after.split(" (")[0]!, "installs or upgrades", "other", now, seconds("release"));
    now = add("smoke tests", "computes", "gate", now, seconds("gate"));
  };
  waves.forEach((names, index) => {
    const rebooting = machines.filter(({ name, reboots }) => names.includes(name) && reboots !== "no");
    const rows = rebooting.length > drawn ? rebooting.slice(0, 1) : rebooting;
    const begin = now;
    for (const { name, drained } of rows) {
      const byOmni = drained === "by Omni";
      const section = rebooting.length > drawn ? `${rebooting.length} machines of wave ${index + 1}` : name;
      let at = begin;
      if (drained?.startsWith("for ")) at = add(section, "drains", "drain", at, seconds("drain"));
      // As `awayForAtMost`: Omni may have two waits for a boot, and our program one for the driver and one for the node.
      at = add(section, "reboots", "reboot", at, seconds("reboot") * (byOmni ? 2 : 1));
      now = Math.max(now, add(section, "is verified", "verify", at, seconds("verify") * (byOmni ? 1 : 2)));
    }
    if (index + 1 === wavesAhead && wavesAhead < waves.length) exposed();
  });
  if (bars.every(({ part }) => part !== "reboot")) return undefined;
  if (wavesAhead >= waves.length) exposed();
  else now = add("smoke tests of the others", "computes", "gate", now, seconds("gate"));
  return { times: "if every step took as long as it may", bars: withWaits(bars) };
}
