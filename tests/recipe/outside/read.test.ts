import { readOutside } from "../../../components/recipe/outside";

// The shapes that 44 repositories with Flux or Argo CD have their releases in.

const flux = `---
# yaml-language-server: $schema=https://raw.githubusercontent.com/fluxcd-community/flux2-schemas/main/helmrelease-helm-v2.json
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
  name: nvidia-device-plugin
spec:
  interval: 1h
  chartRef:
    kind: OCIRepository
    name: nvidia-device-plugin
  valuesFrom:
    - kind: ConfigMap
      name: plugin-values
  values:
    runtimeClassName: nvidia
    config:
      default: any
      map:
        any: |-
          version: v1
`;
const oci = `apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata:
  name: nvidia-device-plugin
spec:
  ref:
    tag: 0.18.2
  url: oci://ghcr.io/home-operations/charts-mirror/nvidia-device-plugin
`;
const configMap = `apiVersion: v1
kind: ConfigMap
metadata:
  name: plugin-values
data:
  values.yaml: |
    gfd:
      enabled: true
    runtimeClassName: other
`;
const byRepository = `apiVersion: helm.toolkit.fluxcd.io/v2beta2
kind: HelmRelease
metadata: { name: gpu-operator, namespace: flux-system }
spec:
  targetNamespace: gpu-operator
  chart:
    spec: { chart: gpu-operator, version: ">=26.3, <26.7", sourceRef: { kind: HelmRepository, name: nvidia } }
`;
const argo = `apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: operator
spec:
  destination:
    namespace: gpu-operator
  sources:
    - repoURL: https://git.example/home
      ref: values
    - repoURL: https://helm.ngc.nvidia.com/nvidia
      chart: gpu-operator
      targetRevision: v26.3.3
      helm:
        releaseName: gpu-operator
        valueFiles:
          - $values/gpu/values.yaml
        parameters:
          - name: toolkit.enabled
            value: "false"
`;

test.each([
  [
    "a HelmRelease with its OCIRepository and a ConfigMap of values",
    [flux, oci, configMap],
    {
      ...{ chart: "nvidia-device-plugin", by: "Flux", name: "nvidia-device-plugin", version: "0.18.2", missing: [] },
      values: {
        ...{ gfd: { enabled: true }, runtimeClassName: "nvidia" },
        config: { default: "any", map: { any: "version: v1" } },
      },
      ...{ place: { file: "0.yaml", line: 3 }, versionPlace: { file: "1.yaml", line: 7 } },
      places: { "gfd.enabled": { file: "2.yaml", line: 8 }, runtimeClassName: { file: "0.yaml", line: 16 } },
    },
  ],
  [
    "a HelmRelease alone",
    [flux],
    {
      chart: "nvidia-device-plugin",
      missing: [
        { kind: "OCIRepository", name: "nvidia-device-plugin" },
        { kind: "ConfigMap", name: "plugin-values" },
      ],
    },
  ],
  [
    "a HelmRelease with a ConfigMap that kustomize makes of a file",
    [
      flux,
      oci,
      "configMapGenerator:\n  - name: plugin-values\n    files: [values.yaml=./gpu/values.yaml]\n",
      "driver: any\n",
    ],
    { version: "0.18.2", missing: [], places: { driver: { file: "gpu/values.yaml", line: 1 } } },
  ],
  [
    "a HelmRelease of a range, of which the newest that is known counts",
    [byRepository],
    { name: "gpu-operator-gpu-operator", namespace: "gpu-operator", version: "26.3.3" },
  ],
  [
    "an OCIRepository of a range that nobody knows a release of, in a list",
    [
      "kind: List\nitems:\n  - kind: HelmRelease\n    metadata: { name: a }\n    spec:\n      chartRef: { kind: OCIRepository, name: gpu }\n      values:\n        driver: any\n" +
        "  - kind: OCIRepository\n    metadata: { name: gpu }\n    spec: { url: oci://a/gpu-operator, ref: { semver: 99.x } }\n",
    ],
    { name: "a", missing: [], place: { file: "0.yaml", line: 3 }, places: { driver: { file: "0.yaml", line: 8 } } },
  ],
  [
    "a HelmRelease with a patch of kustomize's",
    [
      flux,
      oci,
      configMap,
      "kind: HelmRelease\nmetadata: { name: nvidia-device-plugin }\nspec:\n  values:\n    runtimeClassName: mine\n",
    ],
    {
      ...{ version: "0.18.2", missing: [], place: { file: "3.yaml", line: 1 } },
      values: { gfd: { enabled: true }, runtimeClassName: "mine" },
      places: { runtimeClassName: { file: "3.yaml", line: 5 }, "gfd.enabled": { file: "2.yaml", line: 8 } },
    },
  ],
  [
    "a patch of kustomize's alone",
    ["kind: HelmRelease\nmetadata: { name: nvidia-device-plugin }\nspec: { chart: { spec: { version: 0.18.2 } } }\n"],
    { version: "0.18.2", missing: [{ kind: "HelmRelease", name: "nvidia-device-plugin" }] },
  ],
  [
    "an Application with a file of values",
    [argo, "driver:\n  enabled: false\n"],
    {
      ...{ chart: "gpu-operator", by: "Argo CD", name: "gpu-operator", version: "v26.3.3", namespace: "gpu-operator" },
      values: { driver: { enabled: false }, toolkit: { enabled: false } },
      places: {
        "driver.enabled": { file: "gpu/values.yaml", line: 2 },
        "toolkit.enabled": { file: "0.yaml", line: 19 },
      },
    },
  ],
  [
    "a kustomization with a file of values",
    [
      "namespace: gpu\nkind: Kustomization\nhelmCharts:\n  - { name: other, version: 1.0.0 }\n  - name: gpu-operator\n    version: v26.3.3\n    valuesFile: gpu/values.yaml\n    valuesInline:\n      toolkit: { enabled: false }\n",
      "driver:\n  enabled: false\n",
    ],
    {
      ...{ chart: "gpu-operator", by: "kustomize", name: "gpu-operator", version: "v26.3.3", namespace: "gpu" },
      values: { driver: { enabled: false }, toolkit: { enabled: false } },
      places: {
        "driver.enabled": { file: "gpu/values.yaml", line: 2 },
        "toolkit.enabled": { file: "0.yaml", line: 9 },
      },
    },
  ],
  [
    "a chart that depends on NVIDIA's",
    [
      "apiVersion: v2\nname: gpus\nversion: 1.0.0\ndependencies:\n  - { name: other, version: 1.0.0 }\n  - name: gpu-operator\n    alias: operator\n    version: v26.3.3\n",
      "other: {}\noperator:\n  driver:\n    enabled: false\n",
    ],
    {
      ...{
        chart: "gpu-operator",
        by: "a chart",
        version: "v26.3.3",
        versionPlace: { file: "gpu/Chart.yaml", line: 8 },
      },
      values: { driver: { enabled: false } },
      places: { "driver.enabled": { file: "gpu/values.yaml", line: 4 } },
    },
  ],
  [
    "a chart that depends on NVIDIA's, without its values",
    ["name: gpus\ndependencies:\n  - { name: gpu-operator, version: v26.3.3 }\n"],
    { by: "a chart", version: "v26.3.3", missing: [{ kind: "values file", name: "values.yaml" }] },
  ],
  ["a file of values", ["deviceListStrategy: envvar\n"], { chart: "nvidia-device-plugin", by: "values" }],
])("reads %s", (_, texts, expected) => {
  const files = texts.map((text, index) => ({
    name: /^(?:driver|other)/.test(text)
      ? "gpu/values.yaml"
      : /^dependencies/m.test(text)
        ? "gpu/Chart.yaml"
        : `${index}.yaml`,
    text,
  }));
  const { releases, flaws } = readOutside(files);
  expect(flaws).toEqual([]);
  expect(releases).toHaveLength(1);
  expect(releases[0]).toMatchObject(expected);
  if (!("version" in expected)) expect(releases[0]).not.toHaveProperty("version");
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
