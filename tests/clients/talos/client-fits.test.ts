import { checkClient } from "../../../components/clients/talos/client-fits";
import { knownMinors } from "../../../components/recipe/facts/talos-release";

const minors = knownMinors();
/** Each upgrade from a known minor to itself or to a later one. */
const upgrades = minors.flatMap((running, index) =>
  minors.slice(index).map((target) => ({ running: `v${running}.3`, target: `v${target}.1` })),
);

/** Remedy for a talosctl that works with no machine. */
const remedyFor = (running: string, target: string): string =>
  checkClient("v1.1.0", running, target)[0]!.remedy;

/** The talosctl that a remedy recommends. A remedy that names only a minor accepts each of its releases. */
const recommendedIn = (remedy: string): string =>
  asRelease(/install (?:talosctl|the last) (v\S+?)[ ,]/.exec(remedy)![1]!);

/** The release to which a remedy of two updates upgrades first. */
const betweenIn = (remedy: string): string =>
  asRelease(/set talosVersion to the last (v\S+) release first/.exec(remedy)![1]!);

const asRelease = (text: string): string => (/^v\d+\.\d+$/.test(text) ? `${text}.0` : text);

test.each(upgrades)(
  "for an upgrade from $running to $target, the check accepts the talosctl that it recommends",
  ({ running, target }) => {
    const remedy = remedyFor(running, target);
    const client = recommendedIn(remedy);
    if (!remedy.startsWith("make two updates")) {
      expect(checkClient(client, running, target)).toEqual([]);
      return;
    }
    for (const minor of minors) expect(checkClient(`v${minor}.0`, running, target)).toHaveLength(1);
    const between = betweenIn(remedy);
    expect(checkClient(client, running, between)).toEqual([]);
    const clientOfSecond = recommendedIn(remedyFor(between, target));
    expect(checkClient(clientOfSecond, between, target)).toEqual([]);
    expect(remedy).toContain(`first, then to ${target}`);
  },
);

test.each([
  {
    client: "v1.10.9",
    running: "v1.10.9",
    target: "v1.13.9",
    why: "lacks methods",
    remedy: "install talosctl v1.13.9, or set TALOS_GPU_TALOSCTL to its path",
  },
  {
    client: "v1.13.9",
    running: "v1.9.6",
    target: "v1.13.9",
    why: "calls methods that the machine does not have",
    remedy: "install the last v1.12 release of talosctl, or set TALOS_GPU_TALOSCTL to its path",
  },
  {
    client: "v1.12.9",
    running: "v1.9.6",
    target: "v1.15.0",
    why: "lacks methods",
    remedy:
      "make two updates, because no talosctl works with both releases: set talosVersion to the last v1.14 release first, then to v1.15.0. For the first update, install the last v1.12 release of talosctl, or set TALOS_GPU_TALOSCTL to its path",
  },
  {
    client: "none",
    running: "v1.9.6",
    target: "v1.13.9",
    why: "cannot check",
    remedy: "install the last v1.12 release of talosctl, or set TALOS_GPU_TALOSCTL to its path",
  },
])(
  "talosctl $client for an upgrade from $running to $target: $remedy",
  ({ client, running, target, why, remedy }) => {
    const findings = checkClient(client, running, target);
    expect(findings).toMatchObject([{ field: "talosctl", remedy }]);
    expect(findings[0]!.why).toContain(why);
  },
);
