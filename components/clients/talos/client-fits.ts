import * as semver from "semver";
import { minorsBetween } from "../../recipe/effect/hops";
import { client as range } from "../../recipe/facts/data/since.json";
import type { FieldFinding } from "../failure";

/**
 * Findings about a talosctl that does not work with a machine of these releases. One talosctl makes the whole upgrade,
 * also over several minors. So it must fit the running release, with which the upgrade begins, and the wanted one.
 */
export function checkClient(client: string, running: string, target: string): FieldFinding[] {
  const remedy = clientRemedy(running, target);
  const parsed = semver.parse(client);
  if (parsed === null)
    return [
      {
        field: "talosctl",
        problem: `its version ${JSON.stringify(client)} is not a release`,
        why: "the update cannot check whether this talosctl works with the machine",
        remedy,
      },
    ];
  const minorsAhead = minorsBetween(running, client);
  const minorsBehind = minorsBetween(client, target);
  if (minorsAhead <= range.ahead && minorsBehind <= range.behind) return [];
  const why =
    minorsAhead > range.ahead
      ? "this talosctl calls methods that the machine does not have"
      : "this talosctl lacks methods that the machine expects";
  return [
    {
      field: "talosctl",
      problem: `${client} does not work with a machine that ${running === target ? `runs ${running}` : `is upgraded from ${running} to ${target}`}`,
      why,
      remedy,
    },
  ];
}

/**
 * How to get a talosctl that fits. The newest that fits is the best, because it knows most of the wanted release: the
 * wanted release itself, unless that is too far ahead of the running one. If the releases are so far apart that no
 * talosctl fits both, each of two updates has a talosctl that fits.
 */
function clientRemedy(running: string, target: string): string {
  const minors = minorsBetween(running, target);
  if (minors <= range.ahead) return installing(`talosctl ${target}`);
  const { major, minor } = semver.parse(running)!;
  const lastOf = (minorsLater: number): string =>
    `the last v${major}.${minor + minorsLater} release`;
  const newest = `${lastOf(range.ahead)} of talosctl`;
  const farthest = range.ahead + range.behind;
  if (minors <= farthest) return installing(newest);
  return `make two updates, because no talosctl works with both releases: set talosVersion to ${lastOf(farthest)} first, then to ${target}. For the first update, ${installing(newest)}`;
}

const installing = (client: string): string =>
  `install ${client}, or set TALOS_GPU_TALOSCTL to its path`;
