import { remarks } from "../../../cli/doctor/remarks";
import { escapesOf, firstTalosWithout } from "../../../components/recipe/facts/escapes";
import { driverRows } from "../../../components/recipe/facts/talos-release";
import { warningsAndNotes } from "../../support/warnings-and-notes";
import { validStack } from "../stacks";

const escapeMessage = /vulnerabilities that let a container escape/;
const escapeNotes = (talosVersion: string, gpus = [{ model: "RTX 3090" }]): string[] => {
  const { machines, ...stack } = validStack("one-card");
  const spec = { ...stack, talosVersion, machines: { gpu: { ...machines["gpu"]!, gpus } } };
  return warningsAndNotes(spec).filter((note) => escapeMessage.test(note));
};

test.each([
  ["1.16.1", ["CVE-2024-0132", "CVE-2025-23359", "CVE-2025-23266", "CVE-2025-23267"]],
  ["1.17.3", ["CVE-2025-23359", "CVE-2025-23266", "CVE-2025-23267"]],
  ["1.17.6", ["CVE-2025-23266", "CVE-2025-23267"]],
  ["1.17.8", []],
  ["1.19.1", []],
])("the container escapes of toolkit %s are %j", (toolkit, cves) =>
  expect(escapesOf(toolkit)).toEqual(cves),
);

test.each(["v1.8.4", "v1.9.6", "v1.10.0", "v1.10.3"])(
  "the plan warns of container escapes from the toolkit of Talos %s",
  (talosVersion) => {
    const [note, ...otherNotes] = escapeNotes(talosVersion);
    expect(otherNotes).toEqual([]);
    expect(note).toMatch(/^machines\.gpu: .*CVE-2025-23266.*v1\.10\.4/);
  },
);

test.each(["v1.10.4", "v1.11.0", "v1.12.6", "v1.14.1", "v1.15.0"])(
  "the plan does not warn of container escapes from the toolkit of Talos %s",
  (talosVersion) => expect(escapeNotes(talosVersion)).toEqual([]),
);

test("a machine without a card gets no note on container escapes", () =>
  expect(escapeNotes("v1.8.4", [])).toEqual([]));

test("the first Talos release without the container escapes of toolkit 1.16.1 is v1.10.4", () => {
  const repairedVersion = firstTalosWithout("1.16.1");
  expect(repairedVersion).toBe("v1.10.4");
  const row = driverRows.find(({ minor, from }) => `v1.${minor}.${from}` === repairedVersion);
  expect(escapesOf(row!.toolkit!)).toEqual([]);
});

test("without a stack, the doctor reports a machine whose toolkit has container escapes", () => {
  const machine = { name: "gpu-1", talosVersion: "v1.9.3" };
  const escapeRemarks = (machineFields: object): string[] =>
    remarks({ machines: [{ ...machine, ...machineFields }] }, undefined).filter((text) =>
      escapeMessage.test(text),
    );
  expect(escapeRemarks({ extensions: ["nvidia-container-toolkit-production"] })).toEqual([
    expect.stringMatching(/^machine gpu-1: .*CVE-2025-23359.*v1\.10\.4/),
  ]);
  expect(escapeRemarks({ extensions: ["iscsi-tools"] })).toEqual([]);
  expect(
    escapeRemarks({ extensions: ["nvidia-container-toolkit-production"], talosVersion: "v1.12.6" }),
  ).toEqual([]);
});
