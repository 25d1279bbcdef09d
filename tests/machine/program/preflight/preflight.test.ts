import { fixture, table } from "../../../support/table";
import { schematics } from "../fakes";
import { archive, ask, brought, index, type Stand } from "./stand";

/** A row of the table, which says what each part of it is. */
interface Row {
  name: string;
  stand: Partial<Stand>;
  before?: string[];
  ends?: string[];
  says?: string;
  warns?: string;
}

const text = fixture("preflights.yaml").replace(/\$(gpu|other)\b/g, (_, name: "gpu" | "other") => schematics[name]);
const rows = table<Row>(text, ["name", "stand", "before", "ends", "says", "warns"]);

/** The credentials were seen to be of one cluster. */
const together = expect.stringMatching(/^[0-9a-f]{16}$/) as string;

test.each(rows)("%s", async (_, { stand, before, ends, says, warns }) => {
  const { outcome, lines } = await ask(stand, before && brought(before));
  if (ends) expect(outcome).toEqual(ends.map((pattern) => expect.stringMatching(pattern)));
  else expect(outcome).toMatchObject({ histories: [[...new Set([schematics.gpu, ...(before ?? [])])]] });
  if (says) expect(lines).toContainEqual(expect.stringMatching(says));
  const warnings = lines.filter((line) => line.startsWith("warning"));
  if (warns) expect(warnings).toEqual(warns === "none" ? [] : [expect.stringMatching(warns)]);
});

test("where all is there it changes nothing, and remembers what was asked about, and what the stack brought before", async () => {
  const { outcome, machine } = await ask();
  expect(outcome).toEqual({ ...brought([schematics.gpu]), together });
  expect(machine.calls).toEqual([]);
  const again = await ask({}, brought([schematics.other]));
  expect(again.outcome).toEqual({ ...brought([schematics.gpu, schematics.other]), together });
});

test.each<[string, string, string[], boolean]>([
  ["Talos 1.15 with the extension", "v1.15.0", ["siderolabs/multipath-tools"], true],
  ["Talos 1.15 without it", "v1.15.0", [], false],
  ["Talos 1.14", "v1.14.6", ["siderolabs/multipath-tools"], false],
])("an adopted configuration of multipathd, before %s", async (_, talosVersion, extensions, isRefused) => {
  const active = "machine: {}\n---\napiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: multipathd\n";
  const image = { extensions, kernelArgs: [] };
  const { outcome } = await ask({ machines: [{ talosVersion, image }], machine: { active, talosVersion: "v1.14.6" } });
  const words =
    /^machines\.gpu-1: the machine's configuration: has an ExtensionServiceConfig for multipathd.*EtcFileConfig/;
  const told = (Array.isArray(outcome) ? outcome : []).filter((finding) => words.test(finding));
  expect(told).toHaveLength(isRefused ? 1 : 0);
});

test("credentials that were seen to be of one cluster need no machine's word again, until one of them is another", async () => {
  const { outcome } = await ask();
  const faults: Stand["faults"] = { bootId: ["refused", "asked again"] };
  expect((await ask({ faults }, outcome)).outcome).toEqual(outcome);
  expect((await ask({ faults, authority: "another" }, outcome)).outcome).not.toHaveProperty("together");
});

test("a mirror has a folder for each repository's address", async () => {
  const mirror = "http://127.0.0.1:1";
  const web = {
    [`${mirror}/charts.example/nvidia/index.yaml`]: { status: 200, body: index },
    [`${mirror}/charts.example/nvidia/${archive}`]: { status: 200, body: "" },
  };
  const { outcome, asked } = await ask({ web, environment: { TALOS_GPU_CHARTS: `${mirror}/` } });
  expect(outcome).toMatchObject({ machines: {} });
  expect(asked).toContain(`${mirror}/charts.example/nvidia/index.yaml`);
});

test("what it waits for is said at once, and again when it changes", async () => {
  const { lines, outcome } = await ask({ silentAtFirst: ["ECONNREFUSED", "ECONNREFUSED", "no route to host"] });
  expect(outcome).toMatchObject({ machines: {} });
  const waits = "waits up to 3m for the Kubernetes API at https://10.0.0.9:6443:";
  expect(lines.filter((line) => line.startsWith("waits"))).toEqual([
    `${waits} ECONNREFUSED`,
    `${waits} no route to host`,
  ]);
});
