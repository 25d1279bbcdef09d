import { readOutside } from "../../../components/recipe/outside";
import { fixture, table } from "../../support/table";

interface Outside {
  name: string;
  files: Record<string, string>;
  reads: object;
}

test.each(table<Outside>(fixture("outside.yaml"), ["name", "files", "reads"]))("reads %s", (_, { files, reads }) => {
  const { releases, flaws } = readOutside(Object.entries(files).map(([name, text]) => ({ name, text })));
  expect(flaws).toEqual([]);
  expect(releases).toHaveLength(1);
  expect(releases[0]).toMatchObject(reads);
  if (!("version" in reads)) expect(releases[0]).not.toHaveProperty("version");
});

const release = (more: string): string =>
  `kind: HelmRelease\nmetadata: { name: gpu-operator }\nspec:\n${more}  values: { driver: { enabled: false } }\n`;
const chart = (version: string): string => `  chart: { spec: { chart: gpu-operator, version: ${version} } }\n`;
const patch =
  "kind: HelmRelease\nmetadata: { name: gpu-operator }\nspec: { values: { toolkit: { enabled: false } } }\n";
const patching = (resource: string): string => `resources: [${resource}]\npatches: [{ path: patch.yaml }]\n`;
const byFile = (name: string, kind: string): string =>
  `kind: ${kind}\nmetadata: { name: gpu }\n${name}: { url: oci://a/gpu-operator, ref: { tag: v26.3.3 } }\n`;

// Where each release stands, its version, the values that it has, and what is missing.
test.each<[string, Record<string, string>, [string, string | undefined, string[], number][]]>([
  [
    "a patch takes the release of its own folder",
    { "a/r.yaml": release(chart("v1.0.0")), "b/r.yaml": release(chart("v2.0.0")), "b/patch.yaml": patch },
    [
      ["a/r.yaml", "v1.0.0", ["driver"], 0],
      ["b/patch.yaml", "v2.0.0", ["driver", "toolkit"], 0],
    ],
  ],
  [
    "a patch takes the release that its kustomization takes in, by way of another",
    {
      ...{ "base/kustomization.yaml": "resources: [./in/r.yaml]\n", "base/in/r.yaml": release(chart("v1.0.0")) },
      ...{
        "c/a/patch.yaml": patch,
        "c/a/kustomization.yaml": patching("../../base"),
        "c/b/r.yaml": release(chart("v2.0.0")),
      },
    },
    [
      ["c/a/patch.yaml", "v1.0.0", ["driver", "toolkit"], 0],
      ["c/b/r.yaml", "v2.0.0", ["driver"], 0],
    ],
  ],
  [
    "a patch of what is not there takes no other cluster's release",
    { "a/patch.yaml": patch, "a/kustomization.yaml": patching("../base"), "b/r.yaml": release(chart("v2.0.0")) },
    [
      ["a/patch.yaml", undefined, ["toolkit"], 1],
      ["b/r.yaml", "v2.0.0", ["driver"], 0],
    ],
  ],
  [
    "a source is that of the folder, or the only one",
    {
      ...{
        "a/r.yaml": release("  chartRef: { kind: OCIRepository, name: gpu }\n"),
        "a/o.yaml": byFile("spec", "OCIRepository"),
      },
      ...{ "b/o.yaml": byFile("spec", "OCIRepository").replace("26.3.3", "25.3.3") },
      ...{ "c/gpu-operator.yaml": release("  chartRef: { kind: OCIRepository, name: gpu }\n") },
    },
    [
      ["a/r.yaml", "v26.3.3", ["driver"], 0],
      ["c/gpu-operator.yaml", undefined, ["driver"], 1],
    ],
  ],
  [
    "helmfile's releases, with values of their own, of files beside them, and set one by one",
    {
      "helmfile.yaml":
        "repositories: [{ name: nvidia }]\nreleases:\n  - name: cilium\n    chart: cilium/cilium\n" +
        "  - name: gpu-operator\n    namespace: gpu\n    chart: nvidia/gpu-operator\n    version: v26.3.3\n" +
        "    values:\n      - driver: { enabled: false }\n      - ./values/gpu.yaml\n      - ./values/more.yaml.gotmpl\n" +
        "    secrets: [secrets.yaml]\n    set:\n      - { name: toolkit.enabled, value: false }\n" +
        "  - { name: old, chart: nvidia/gpu-operator, installed: false }\n",
      ...{ "values/gpu.yaml": "cdi: { enabled: true }\n", "other/values/gpu.yaml": "other: any\n" },
    },
    [["helmfile.yaml", "v26.3.3", ["cdi", "driver", "toolkit"], 2]],
  ],
])("%s", (_, texts, expected) => {
  const { releases } = readOutside(Object.entries(texts).map(([name, text]) => ({ name, text })));
  const seen = releases.map(({ place, version, values, missing }) => [
    place.file,
    version,
    Object.keys(values).sort(),
    missing.length,
  ]);
  expect(seen).toEqual(expected);
});

test("says what it cannot read, and passes over what is not about it", () => {
  const texts = ["kind: [\n", "apiVersion: v1\nkind: Secret\n", "a: 1\n", "- 1\n", "{{ template }}\n", ""];
  const { releases, flaws } = readOutside(texts.map((text, index) => ({ name: `${index}.yaml`, text })));
  expect(releases).toEqual([]);
  expect(flaws.map(({ file }) => file)).toContain("0.yaml");
});
