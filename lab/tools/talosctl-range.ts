import * as semver from "semver";
import { clientAhead } from "../../components/recipe/facts/data/since";

/**
 * Which talosctl fits stacks of these Talos releases, as a semver range: as new as the newest, since it also makes the
 * machines' configurations, and no further ahead of the oldest than the upgrade program allows.
 */
export function talosctlRange(releases: readonly string[]): string {
  const minors = releases.map((release) => semver.minor(release));
  return `>=1.${Math.max(...minors)}.0 <1.${Math.min(...minors) + clientAhead + 1}.0-0`;
}
