import * as semver from "semver";
import { mostIntermediateReleases, upgradePath } from "../../../components/recipe/effect";
import { minorRows, newestRelease } from "../../../components/recipe/facts/talos-release";
import { installerAt } from "../../../components/recipe/machine/schematic";

const minors = minorRows.map(({ minor }) => minor);
const pairs = minors.flatMap((from) =>
  minors.filter((to) => to > from).map((to) => ({ from: `v1.${from}.0`, to: `v1.${to}.0` })),
);

test.each(pairs)(
  "an upgrade from $from to $to goes through every minor, in order",
  ({ from, to }) => {
    const { intermediateReleases, fault } = upgradePath(from, to);
    expect(fault).toBeUndefined();
    const releases = [from, ...intermediateReleases, to].map((release) => semver.parse(release)!);
    for (const [index, release] of releases.slice(1).entries())
      expect(release.minor - releases[index]!.minor).toBe(1);
    expect(intermediateReleases.every((release) => semver.prerelease(release) === null)).toBe(true);
    expect(intermediateReleases.length).toBeLessThanOrEqual(mostIntermediateReleases(to));
  },
);

test.each([
  ["v1.11.5", "v1.13.9", ["v1.12.12"]],
  ["v1.12.0", "v1.14.1", ["v1.13.9"]], // later releases are only inferred
  ["v1.12.12", "v1.13.9", []],
  ["v1.13.9", "v1.13.9", []],
])("an upgrade from %s to %s has the intermediate releases %j", (from, to, intermediateReleases) =>
  expect(upgradePath(from, to)).toEqual({ intermediateReleases }),
);

test("an upgrade goes through the newest patch release that the Image Factory lists", () => {
  const listed = ["v1.12.6", "v1.12.10", "v1.12.9", "v1.12.11-rc.0"];
  expect(upgradePath("v1.11.5", "v1.13.9", { listed })).toEqual({
    intermediateReleases: ["v1.12.10"],
  });
});

test.each([
  ["v1.13.9", "v1.12.12", /newer than the wanted/],
  ["v1.6.0", "v1.12.12", /no release of 1\.7 is known/],
  ["v1.12.0", "v2.1.0", /changes the major release/],
])("an upgrade from %s to %s is refused", (from, to, message) =>
  expect(upgradePath(from, to).fault?.problem).toMatch(message),
);

test("if no Kubernetes release fits all Talos releases of an upgrade, the remedy is several updates or another kubernetesVersion", () => {
  const { fault } = upgradePath("v1.8.4", newestRelease(), { kubernetes: "v1.31.4" });
  expect(fault?.remedy).toMatch(
    /^(make \d updates: set talosVersion to v1\.9\.6 first|in this update, set kubernetesVersion to a release of 1\.32,)/,
  );
});

const id = "a".repeat(64);
test.each([
  [
    `factory.talos.dev/metal-installer/${id}:v1.13.9`,
    "v1.12.12",
    `factory.talos.dev/metal-installer/${id}:v1.12.12`,
  ],
  [
    `f.example:8080/x/aws-installer-secureboot/${id}:v1.11.0`,
    "v1.10.9",
    `f.example:8080/x/aws-installer-secureboot/${id}:v1.10.9`,
  ],
  // Before Talos 1.10 no installer image has a platform in its name.
  [
    `factory.talos.dev/metal-installer/${id}:v1.11.6`,
    "v1.9.6",
    `factory.talos.dev/installer/${id}:v1.9.6`,
  ],
])("the installer %s for Talos %s is %s", (image, release, expectedInstaller) =>
  expect(installerAt(image, release)).toBe(expectedInstaller),
);
