import * as fs from "node:fs";
import * as path from "node:path";
import * as semver from "semver";
import { breakingChanges, type ApiSchema } from "../../cli/schema/breaking";

const root = path.resolve(__dirname, "../..");
const read = (file: string): string => fs.readFileSync(path.join(root, file), "utf8");
const schema = JSON.parse(read("sdk/schema.json")) as ApiSchema;
const released = JSON.parse(read("sdk/released.json")) as ApiSchema;

/** Whether a version may break what another one promised: the next major, before 1.0 the next minor (semver.org, 4 and 8). */
const mayBreak = (was: string, is: string): boolean =>
  semver.major(is) > semver.major(was) || (semver.major(was) === 0 && semver.minor(is) > semver.minor(was));

/**
 * Entries of `breakingChanges` whose name, e.g. `Ollama.models`, does not stand under `### Breaking` of a version's section of the
 * changelog: before its release, of Unreleased.
 */
function unsaid(breaking: readonly string[], changelog: string, version: string): string[] {
  const sections = changelog.split(/^## /m);
  const own = [version, "Unreleased"].map((title) => sections.find((section) => section.split("\n")[0] === title));
  const said = (own.find((section) => section !== undefined) ?? "")
    .split(/^### /m)
    .filter((part) => part.startsWith("Breaking\n"))
    .join();
  const nameOf = (entry: string): string => entry.split(/ (?:is|has|may) /)[0]!.replace(" (output)", "");
  return breaking.filter((entry) => !new RegExp(`(?<![\\w.])${nameOf(entry)}(?!\\.?\\w)`).test(said));
}

test("what breaks programs of the last release comes with a version and a changelog that say so", () => {
  const { version } = JSON.parse(read("components/package.json")) as { version: string };
  const breaking = breakingChanges(released, schema);
  // The remedy: another version in components/package.json and a "### Breaking" in CHANGELOG.md that names what is gone. After
  // a release `npm run schema -- --released` makes its schema the one that is compared with.
  const may = mayBreak(released.version ?? "0.0.0", version);
  expect(may ? unsaid(breaking, read("CHANGELOG.md"), version) : breaking).toEqual([]);
});

const old = "## 0.1.0\n\n### Breaking\n- `Ollama.models` is gone.\n";
test.each<[string, changelog: string, wants: string[]]>([
  [
    "under Unreleased",
    `## Unreleased\n\n### Breaking\n- \`Ollama.models\` is \`pulls\`.\n\n### Added\n- More.\n\n${old}`,
    [],
  ],
  ["under the version", `## Unreleased\n\n## 0.2.0\n\n### Breaking\n- Ollama.models.\n`, []],
  ["of an earlier version alone", `## Unreleased\n\n### Breaking\n- Other.\n\n${old}`, ["Ollama.models is gone"]],
  ["without a section of the version", `# Changelog\n\n${old}`, ["Ollama.models is gone"]],
  ["under another heading", "## Unreleased\n\n### Changed\n- Ollama.models.\n", ["Ollama.models is gone"]],
  ["only as part of another name", "## Unreleased\n\n### Breaking\n- Ollama.modelsOf.\n", ["Ollama.models is gone"]],
])("a changelog that names what is gone %s", (_where, changelog, wants) =>
  expect(unsaid(["Ollama.models is gone"], changelog, "0.2.0")).toEqual(wants),
);

test.each([
  ["Ollama (output).endpoint is Any, and was string", "Ollama.endpoint"],
  ["Ollama (output).endpoint may be missing", "Ollama.endpoint"],
  ["Ollama.models has become required", "Ollama.models"],
  ["MachineRole has no controlplane any more", "MachineRole"],
])("the changelog says %j by the name %s", (entry, name) => {
  const saying = (text: string): string => `## Unreleased\n\n### Breaking\n- \`${text}\`.\n`;
  expect(unsaid([entry], saying(name), "0.2.0")).toEqual([]);
  expect(unsaid([entry], saying("Other"), "0.2.0")).toEqual([entry]);
});

describe("what breaks a program", () => {
  const [resource, machine] = ["talos-gpu:index:Ollama", "talos-gpu:index:MachineEntrySpec"];
  const edited = (edit: (copy: any) => void): string[] => {
    const copy = structuredClone(schema);
    edit(copy);
    return breakingChanges(schema, copy);
  };

  test.each<[string, (copy: any) => void, string[]]>([
    ["nothing", () => {}, []],
    ["a new resource", (copy) => (copy.resources["talos-gpu:index:New"] = {}), []],
    ["a new input", (copy) => (copy.resources[resource].inputProperties.more = { type: "string" }), []],
    [
      "an input that is gone",
      (copy) => delete copy.resources[resource].inputProperties.models,
      ["Ollama.models is gone"],
    ],
    [
      "an output that is gone",
      (copy) => delete copy.resources[resource].properties.endpoint,
      ["Ollama (output).endpoint is gone"],
    ],
    [
      "an input that is required now",
      (copy) => (copy.resources[resource].requiredInputs = [...copy.resources[resource].requiredInputs, "models"]),
      ["Ollama.models has become required"],
    ],
    ["a resource that is gone", (copy) => delete copy.resources[resource], ["Ollama is gone"]],
    ["any type in place of one", (copy) => (copy.types[machine].properties.address = { $ref: "pulumi.json#/Any" }), []],
    [
      "an output of any type in place of one",
      (copy) => (copy.resources[resource].properties.endpoint = { $ref: "pulumi.json#/Any" }),
      ["Ollama (output).endpoint is Any, and was string"],
    ],
    [
      "another type",
      (copy) => (copy.types[machine].properties.address = { type: "number", plain: true }),
      ["MachineEntrySpec.address is plain number, and was plain string"],
    ],
    [
      "a value that is gone",
      (copy) => (copy.types["talos-gpu:index:MachineRole"].enum = [{ value: "worker" }]),
      ["MachineRole has no controlplane any more"],
    ],
  ])("%s", (_what, edit, said) => expect(edited(edit)).toEqual(said));
});
