import * as semver from "semver";
import { minorsBetween } from "../../recipe/effect/faults";
import { client as range } from "../../recipe/facts/data/since.json";
import { type Problem, problemAt } from "../failure";
import texts from "../texts.json";

/** Whether this talosctl can drive a machine of these releases. */
export function checkClient(client: string, running: string, wanted: string): Problem[] {
  const parsed = semver.parse(client);
  if (parsed === null) return [problemAt("talosctl", texts.noRelease, { client: JSON.stringify(client), running })];
  const ahead = minorsBetween(running, client);
  const behind = minorsBetween(client, wanted);
  if (ahead <= range.ahead && behind <= range.behind) return [];
  const why =
    ahead > range.ahead
      ? "it calls methods that the machine does not have"
      : "it lacks methods that the machine expects";
  return [problemAt("talosctl", texts.unfit, { client, running, wanted, why })];
}
