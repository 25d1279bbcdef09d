import {
  capabilitiesOf,
  driverRows,
  injectionOf,
  extensionsOf,
  findRelease,
  knownMinors,
  minorRows,
  minorsWith,
  releaseInTables,
  usesContainerCli,
} from "../../../components/recipe/facts/talos-release";
import { containerdOf } from "../../../components/recipe/facts/containerd-schema";
import { releases as containerdReleases } from "../../../components/recipe/facts/data/containerd-schema.json";
import { ofBranch } from "../../../components/recipe/facts/data/cuda.json";
import since from "../../../components/recipe/facts/data/since.json";
import { releases as schemaReleases } from "../../../components/recipe/facts/data/talos-schema.json";
import { schemaMinor } from "../../../components/recipe/facts/talos-schema";
import {
  compareDotted,
  leastDotted,
  majorOf,
  parseTalosVersion,
} from "../../../components/recipe/facts/version";

/** The minor after the newest one of the tables. */
const unknownMinorVersion = `v1.${minorRows.at(-1)!.minor + 1}.0`;

test.each([
  ["v1.8.4", "535.183.06", "550.90.07", "1.16.1"],
  ["v1.9.2", "535.216.03", "550.127.08", "1.17.2"],
  ["v1.9.3", "535.230.02", "550.144.03", "1.17.3"],
  ["v1.10.1", "535.230.02", "570.124.06", "1.17.5"],
  ["v1.11.5", "535.247.01", "570.172.08", "1.17.8"],
  ["v1.12.0", "580.105.08", "570.195.03", "1.18.1"],
  ["v1.12.3", "580.126.09", "570.211.01", "1.18.2"],
  ["v1.12.6", "580.126.20", "570.211.01", "1.18.2"],
  ["v1.13.0", "580.126.20", "595.58.03", "1.19.0"],
  ["v1.13.4", "580.159.04", "595.71.05", "1.19.1"],
  ["v1.13.9", "580.178.04", "595.91.07", "1.19.1"],
  ["v1.14.0-rc.1", "580.178.04", "595.91.07", "1.19.1"],
  ["v1.14.0", "580.178.04", "595.91.07", "1.19.1"],
  ["v1.12.12", "580.126.20", "570.211.01", "1.18.2"],
  ["v1.14.1", "580.178.04", "595.91.07", "1.19.1"],
  ["v1.14.6", "580.196.07", "595.112.07", "1.19.1"],
])(
  "Talos %s has driver lts %s, production %s and toolkit %s",
  (version, lts, production, toolkit) => {
    const release = findRelease(version);
    expect(release?.drivers).toMatchObject({ lts, production, toolkit });
    expect(release).not.toHaveProperty("note");
    expect(release).not.toHaveProperty("assumed");
  },
);

test("on Talos 1.12, the driver lts is newer than production", () => {
  const drivers = findRelease("v1.12.6")?.drivers;
  expect(compareDotted(drivers?.lts ?? "0", drivers?.production ?? "0")).toBeGreaterThan(0);
});

test("a newer patch release has the drivers that the Image Factory reports", () => {
  const facts = {
    talosVersion: "v1.13.90",
    lts: "580.190.10",
    production: "595.99.10",
    toolkit: "1.19.2",
  };
  const release = findRelease("v1.13.90", { ...facts, extensions: ["siderolabs/new-one"] });
  expect(release?.drivers).toMatchObject({
    lts: "580.190.10",
    production: "595.99.10",
    toolkit: "1.19.2",
  });
  expect(release).not.toHaveProperty("assumed");
  expect(release).toMatchObject({ extensions: ["siderolabs/new-one"] });
  expect(release?.beyondTables).toMatchObject({ inferred: false, driversFromFactory: true });
  // Facts about another release, or about one in the tables, are ignored.
  expect(findRelease("v1.13.91", facts)).toMatchObject({ assumed: true });
  expect(findRelease("v1.13.9", { ...facts, talosVersion: "v1.13.9" })?.drivers.lts).toBe(
    "580.178.04",
  );
});

test("the drivers of an inferred release are assumed until the Image Factory reports them", () => {
  expect(findRelease("v1.13.10")).toMatchObject({
    assumed: true,
    drivers: { lts: "580.178.04", production: "595.91.07" },
    beyondTables: { inferred: true, driversFromFactory: false },
  });
  const release = findRelease("v1.14.5", {
    talosVersion: "v1.14.5",
    lts: "580.196.07",
    production: "595.112.07",
  });
  expect(release?.drivers).toMatchObject({
    lts: "580.196.07",
    production: "595.112.07",
    toolkit: "1.19.1",
  });
  expect(release).not.toHaveProperty("assumed");
});

test("Talos 1.15 brings drivers of three branches, and no toolkit", () => {
  const drivers = { lts: "580.196.07", production: "595.112.07", "new-feature": "615.71.10" };
  expect(findRelease("v1.15.0-beta.0")).toMatchObject({ assumed: true, drivers });
  expect(findRelease("v1.15.0-beta.0")?.drivers).not.toHaveProperty("toolkit");
  expect(usesContainerCli("v1.15.0")).toBe(false);
  const facts = {
    talosVersion: "v1.15.1",
    lts: "580.200.01",
    production: "595.120.01",
    newFeature: "615.80.01",
  };
  const release = findRelease("v1.15.1", facts);
  expect(release?.drivers).toEqual({
    minor: 15,
    from: 1,
    to: 1,
    lts: facts.lts,
    production: facts.production,
    "new-feature": facts.newFeature,
  });
  expect(release?.beyondTables).toMatchObject({ inferred: false, driversFromFactory: true });
});

test("an unknown newer patch release is assumed to have the drivers of its minor's newest row", () => {
  const release = findRelease("v1.12.99");
  expect(release).toMatchObject({ assumed: true, drivers: { lts: "580.126.20" } });
  expect(release?.beyondTables).toEqual({
    inferred: false,
    driversFromFactory: false,
    like: "v1.12.12",
  });
  const silentRelease = findRelease("v1.12.99", {
    talosVersion: "v1.12.99",
    silent: "ECONNREFUSED",
  });
  expect(silentRelease?.beyondTables).toMatchObject({
    driversFromFactory: false,
    silent: "ECONNREFUSED",
  });
});

test.each([
  ["v1.14.0", "known"],
  ["v1.14.6", "known"],
  ["v1.13.10", "newer"],
  ["v1.13.90", "newer"],
  ["v1.14.90", "newer"],
  ["v1.15.0", "newer"],
  [unknownMinorVersion, "unknown"],
  ["latest", "unknown"],
])("the status of the release %s in the tables is %s", (version, status) =>
  expect(releaseInTables(version)).toBe(status),
);

test.each(["v1.7.6", unknownMinorVersion, "v2.0.0", "latest", ""])(
  "no release is found for %j",
  (version) => expect(findRelease(version)).toBeUndefined(),
);

test("rows of a minor follow each other without a gap", () => {
  for (const { minor } of minorRows) {
    const rows = driverRows.filter((row) => row.minor === minor);
    expect(rows[0]?.from).toBe(0);
    rows.forEach((row, index) => {
      expect(row.to).toBeGreaterThanOrEqual(row.from);
      if (index > 0) expect(row.from).toBe((rows[index - 1]?.to ?? 0) + 1);
    });
  }
});

test("the tables have all minors from 1.8 on, each with rows of drivers", () => {
  expect(new Set(driverRows.map((row) => row.minor))).toEqual(
    new Set(minorRows.map((row) => row.minor)),
  );
  expect(minorRows.map(({ minor }) => minor)).toEqual(minorRows.map((_, index) => 8 + index));
  expect(knownMinors().slice(0, 3)).toEqual(["1.8", "1.9", "1.10"]);
});

/** Driver branches of every release that was read. An inferred row may be a guess. */
const readBranches = driverRows
  .filter(({ inferred }) => !inferred)
  .flatMap((row) => [row.lts, row.production, row["new-feature"] ?? row.production].map(majorOf));
test.each([...new Set(readBranches)])("CUDA of driver %d is known", (branch) =>
  expect(Object.keys(ofBranch)).toContain(String(branch)),
);

test.each(minorRows)(
  "Talos 1.$minor: the tables have the schemas of its configuration and its containerd",
  (row) => {
    expect(schemaMinor(row.minor)).toEqual({ minor: row.minor, isKnown: true });
    expect(schemaReleases.map((release) => Number(release.split(".")[1]))).toContain(row.minor);
    const containerdMinors = containerdReleases.map((release) => Number(release.split(".")[1]));
    for (const { from, to, version } of row.containerd) {
      const minor = Number(version.split(".")[1]);
      for (const patch of [from, to])
        expect(containerdOf(`v1.${row.minor}.${patch}`)).toEqual({ minor, isKnown: true });
      expect(containerdMinors).toContain(minor);
    }
  },
);

test.each(minorRows)(
  "for Talos 1.$minor, the ranges of containerd follow each other without a gap",
  ({ containerd }) =>
    expect(containerd.map(({ from }) => from)).toEqual([
      0,
      ...containerd.slice(0, -1).map(({ to }) => to + 1),
    ]),
);

test.each(minorRows)(
  "for Talos 1.$minor, the ranges of containerd end at the same patch release as the drivers",
  ({ minor, containerd }) =>
    expect(containerd.at(-1)?.to).toBe(driverRows.findLast((row) => row.minor === minor)?.to),
);

// DefaultContainerdVersion of siderolabs/talos at the tag.
test.each([
  ["v1.12.7", 1, true],
  ["v1.12.8", 2, true],
  ["v1.12.11", 2, true],
  ["v1.12.90", 2, false],
  ["v1.14.0-rc.1", 3, true],
  ["latest", 0, false],
])(
  "%s has containerd 2.%d, and the tables know this release of Talos: %s",
  (version, minor, isKnown) => expect(containerdOf(version)).toEqual({ minor, isKnown }),
);

test("a minor newer than the tables gets the containerd of their newest minor", () => {
  const newest = minorRows.at(-1)!.containerd.at(-1)!.version;
  expect(containerdOf(unknownMinorVersion)).toEqual({
    minor: Number(newest.split(".")[1]),
    isKnown: false,
  });
});

test.each(Object.entries(since))(
  "the part %s of since.json was last reviewed at the newest minor",
  (_, { readTo }) => expect(readTo).toBe(minorRows.at(-1)?.minor),
);

test.each([
  ["v1.12.11", "legacy"], // no program makes CDI specifications
  ["v1.13.0", "cdi"], // an extension of Talos makes them
  ["v1.14.6", "cdi"],
  ["v1.15.0-beta.0", "nri"], // the GPU Operator makes them
  ["nonsense", "legacy"], // as on the oldest minor
])("Talos %s injects cards into containers by: %s", (version, injection) =>
  expect(injectionOf(version)).toBe(injection),
);

test.each(minorRows)("the row of Talos 1.$minor has every capability", (row) => {
  expect(Object.keys(row)).toEqual(Object.keys(minorRows[0]!));
  expect(capabilitiesOf(`v1.${row.minor}.99`)).toBe(row);
});

test.each([
  [unknownMinorVersion, minorRows.at(-1)],
  ["v1.7.6", minorRows[0]],
  ["latest", minorRows[0]],
])(
  "%s has the capabilities of the nearest minor in the tables, or of the oldest if it is no release",
  (version, row) => expect(capabilitiesOf(version)).toBe(row),
);

test("the tables know which minors of Talos have an extension", () => {
  expect(minorsWith("siderolabs/nvidia-gdrdrv-device").slice(0, 2)).toEqual([12, 13]);
  expect(minorsWith("siderolabs/i915-ucode")).toEqual([8]);
  expect(minorsWith("siderolabs/nvidia-driver")).toEqual([]);
  for (const { minor } of minorRows) {
    for (const branch of ["lts", "production"]) {
      for (const name of [
        "nonfree-kmod-nvidia",
        "nvidia-open-gpu-kernel-modules",
        "nvidia-container-toolkit",
        "nvidia-fabricmanager",
      ]) {
        expect(extensionsOf(minor)).toContain(`siderolabs/${name}-${branch}`);
      }
    }
  }
});

test("a Talos version is read with its minor, patch and prerelease", () => {
  expect(parseTalosVersion("v1.14.0-rc.1")).toEqual({
    text: "v1.14.0-rc.1",
    minor: 14,
    patch: 0,
    prerelease: true,
  });
});

test("dotted versions are compared number by number", () => {
  expect(compareDotted("580.65.06", "580.126.20")).toBeLessThan(0);
  expect(compareDotted("12.8", "12.8.0")).toBe(0);
});

test("the least of several dotted versions is found, and an empty list has none", () => {
  expect(leastDotted(["12.10", "12.8", "13.0"])).toBe("12.8");
  expect(leastDotted([])).toBeUndefined();
});

test("majorOf gives the first number of a driver's version", () =>
  expect(majorOf("570.211.01")).toBe(570));
