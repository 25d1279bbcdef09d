import * as semver from "semver";
import { minorsBetween } from "../../recipe/effect/hops";
import { client as range } from "../../recipe/facts/data/since.json";
import type { FieldFinding } from "../failure";

/** Findings about a talosctl that does not work with a machine of these releases. */
export function checkClient(client: string, running: string, target: string): FieldFinding[] {
  const parsed = semver.parse(client);
  if (parsed === null)
    return [
      {
        field: "talosctl",
        problem: `its version ${JSON.stringify(client)} is not a release`,
        why: "the update cannot check whether this talosctl works with the machine",
        remedy: `install talosctl ${running}`,
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
      remedy: `install talosctl ${running}, or set TALOS_GPU_TALOSCTL to the path of that version`,
    },
  ];
}
