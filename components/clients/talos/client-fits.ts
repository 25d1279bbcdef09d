import * as semver from "semver";
import { minorsBetween } from "../../recipe/effect/upgrade-path";
import type { Failure } from "../failure";

/**
 * How far talosctl's minor release may be from the machine's: older misses methods, much newer asks for ones that are not
 * there (talos#13581). Three ahead is what talosctl 1.13 is to Talos 1.10, whose API has every method that this program
 * calls: between them only etcd's downgrade was added, and `upgrade` falls back to the old method by itself
 * (talos v1.10.9 and v1.11.5 api/machine/machine.proto, v1.13.0 cmd/talosctl/cmd/talos/upgrade.go).
 */
const CLIENT_BEHIND = 1;
/** Minor releases that talosctl may be ahead of the machine. */
export const CLIENT_AHEAD = 3;

/** Whether this talosctl can drive a machine of these releases. */
export function checkClient(client: string, running: string, wanted: string): Failure["findings"] {
  const parsed = semver.parse(client);
  if (parsed === null) {
    return [
      {
        field: "talosctl",
        problem: `its version ${JSON.stringify(client)} is not a release`,
        why: "so the update cannot tell whether it works with the machine",
        remedy: `install talosctl ${running}`,
      },
    ];
  }
  const ahead = minorsBetween(running, client);
  const behind = minorsBetween(client, wanted);
  if (ahead <= CLIENT_AHEAD && behind <= CLIENT_BEHIND) return [];
  return [
    {
      field: "talosctl",
      problem: `${client} does not fit a machine that goes from ${running} to ${wanted}`,
      why:
        ahead > CLIENT_AHEAD
          ? "it calls methods that the machine does not have"
          : "it lacks methods that the machine expects",
      remedy: `install talosctl ${running}, or name another by TALOS_GPU_TALOSCTL`,
    },
  ];
}
