import Table from "cli-table3";
import type { Registration } from "./registration";
import type { Resources } from "./resources";
import type { Spread } from "./statistics";
import type { UpgradePath } from "./upgrade-path";

/** All that was measured; what `--json` prints. */
export interface Bench {
  /** CPU seconds of reading, checking and planning a stack. */
  planning: { machines: number; seconds: Spread };
  resources: Resources;
  registrations: Registration[];
  paths: UpgradePath[];
}

/** One table: what was measured, the figure, and what it shall be. */
export function renderBench({ planning, resources, registrations, paths }: Bench): string {
  const table = new Table({ head: ["measured", "figure", "shall be"], style: { head: [], border: [], compact: true } });
  table.push([`plan of ${planning.machines} machines, CPU`, `${spread(planning.seconds)} s`, "< 1 s"]);
  table.push(
    ["custom resources of an owned machine", resources.owned, "≤ 4"],
    ["custom resources of an adopted machine", resources.adopted, "≤ 4"],
    [`schematics of ${resources.machines} like machines`, resources.schematics, 1],
  );
  for (const { machines, component, handwritten, ratio, componentMiB, handwrittenMiB, wallRatio } of registrations) {
    const each = (component.median / machines) * 1_000;
    table.push(
      [
        `registration of ${machines}, CPU`,
        `${spread(component)} s (${each.toFixed(1)} ms each), by hand ${spread(handwritten)} s`,
        "flat",
      ],
      ["  ratio of CPU time", spread(ratio), machines >= 1_000 ? "≤ 1.15" : ""],
      ["  ratio of time by the clock", spread(wallRatio), ""],
      [`  memory`, `${spread(componentMiB, 0)} MiB, by hand ${spread(handwrittenMiB, 0)} MiB`, ""],
    );
  }
  for (const { workers, window, length, labMinutes, reboots, secondReboots, secondRequests } of paths) {
    table.push(
      [
        `upgrades one after the other, ${workers} workers, ${window} at a time`,
        `${length}, in ${labMinutes.toFixed(1)} lab minutes`,
        Math.ceil(workers / window),
      ],
      ["  reboots of each, first update", reboots.join(", "), "1 each"],
      ["  reboots and machine calls, second update", `${secondReboots} and ${secondRequests}`, "0 and 0"],
    );
  }
  return `${table.toString()}\nMedian (least to most).`;
}

function spread({ median, min, max }: Spread, digits = 2): string {
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
}
