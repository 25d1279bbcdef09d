import { releasesIn } from "../../../components/recipe/external/read";
import type { OutsideRelease } from "../../../components/recipe/external/release";
import { yaml } from "../../support/yaml";

// The forms of releases in 44 repositories with Flux or Argo CD.

/** Fields of a release. Without a version, the file must have none. The values are compared whole. */
type ExpectedRelease = {
  [Field in keyof OutsideRelease]?: OutsideRelease[Field] extends object | undefined
    ? Partial<OutsideRelease[Field]>
    : OutsideRelease[Field];
};

/** Reads files, by name, and fails unless they contain exactly these releases, in order. */
function expectReleases(files: Record<string, string>, expected: ExpectedRelease[]): void {
  const { releases, flaws } = releasesIn(
    Object.entries(files).map(([name, text]) => ({ name, text })),
  );
  expect(flaws).toEqual([]);
  expect(releases).toMatchObject(expected);
  for (const [index, { version, values }] of expected.entries()) {
    if (version === undefined) expect(releases[index]).not.toHaveProperty("version");
    if (values !== undefined) expect(releases[index]!.values).toEqual(values);
  }
}

const helmRelease = yaml`
  ---
  # yaml-language-server: $schema=https://example.com/helmrelease-helm-v2.json
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
const ociRepository = yaml`
  apiVersion: source.toolkit.fluxcd.io/v1
  kind: OCIRepository
  metadata:
    name: nvidia-device-plugin
  spec:
    ref:
      tag: 0.18.2
    url: oci://ghcr.io/home-operations/charts-mirror/nvidia-device-plugin
`;
const configMap = yaml`
  apiVersion: v1
  kind: ConfigMap
  metadata:
    name: plugin-values
  data:
    values.yaml: |
      gfd:
        enabled: true
      runtimeClassName: other
`;
const driverDisabledFile = yaml`
  driver:
    enabled: false
`;
const releaseV1 = yaml`
  kind: HelmRelease
  metadata: { name: gpu-operator }
  spec:
    chart: { spec: { chart: gpu-operator, version: v1.0.0 } }
    values: { driver: { enabled: false } }
`;
const releaseV2 = yaml`
  kind: HelmRelease
  metadata: { name: gpu-operator }
  spec:
    chart: { spec: { chart: gpu-operator, version: v2.0.0 } }
    values: { driver: { enabled: false } }
`;
const toolkitPatch = yaml`
  kind: HelmRelease
  metadata: { name: gpu-operator }
  spec: { values: { toolkit: { enabled: false } } }
`;
const releaseOfOciRepository = yaml`
  kind: HelmRelease
  metadata: { name: gpu-operator }
  spec:
    chartRef: { kind: OCIRepository, name: gpu }
    values: { driver: { enabled: false } }
`;
const driverDisabled = { driver: { enabled: false } };
const driverAndToolkitDisabled = { driver: { enabled: false }, toolkit: { enabled: false } };

test("a HelmRelease is read with its OCIRepository and its ConfigMap of values", () =>
  expectReleases({ "0.yaml": helmRelease, "1.yaml": ociRepository, "2.yaml": configMap }, [
    {
      chart: "nvidia-device-plugin",
      by: "Flux",
      name: "nvidia-device-plugin",
      version: "0.18.2",
      missing: [],
      values: {
        gfd: { enabled: true },
        runtimeClassName: "nvidia",
        config: { default: "any", map: { any: "version: v1" } },
      },
      place: { file: "0.yaml", line: 3 },
      versionPlace: { file: "1.yaml", line: 7 },
      places: {
        "gfd.enabled": { file: "2.yaml", line: 8 },
        runtimeClassName: { file: "0.yaml", line: 16 },
      },
    },
  ]));

test("for a HelmRelease alone, the missing OCIRepository and ConfigMap are listed", () =>
  expectReleases({ "0.yaml": helmRelease }, [
    {
      chart: "nvidia-device-plugin",
      missing: [
        { kind: "OCIRepository", name: "nvidia-device-plugin" },
        { kind: "ConfigMap", name: "plugin-values" },
      ],
    },
  ]));

test("a HelmRelease is read with a ConfigMap that kustomize generates from a file", () =>
  expectReleases(
    {
      "0.yaml": helmRelease,
      "1.yaml": ociRepository,
      "2.yaml": yaml`
        configMapGenerator:
          - name: plugin-values
            files: [values.yaml=./gpu/values.yaml]
      `,
      "gpu/values.yaml": yaml`driver: any`,
    },
    [{ version: "0.18.2", missing: [], places: { driver: { file: "gpu/values.yaml", line: 1 } } }],
  ));

test("a HelmRelease with a range of versions is read as the newest known version", () =>
  expectReleases(
    {
      "0.yaml": yaml`
        apiVersion: helm.toolkit.fluxcd.io/v2beta2
        kind: HelmRelease
        metadata: { name: gpu-operator, namespace: flux-system }
        spec:
          targetNamespace: gpu-operator
          chart:
            spec:
              chart: gpu-operator
              version: ">=26.3, <26.7"
              sourceRef: { kind: HelmRepository, name: nvidia }
      `,
    },
    [{ name: "gpu-operator-gpu-operator", namespace: "gpu-operator", version: "26.3.3" }],
  ));

test("a release has no version if no known version is in its OCIRepository's range", () =>
  expectReleases(
    {
      "0.yaml": yaml`
        kind: List
        items:
          - kind: HelmRelease
            metadata: { name: a }
            spec:
              chartRef: { kind: OCIRepository, name: gpu }
              values:
                driver: any
          - kind: OCIRepository
            metadata: { name: gpu }
            spec: { url: oci://a/gpu-operator, ref: { semver: 99.x } }
      `,
    },
    [
      {
        name: "a",
        missing: [],
        place: { file: "0.yaml", line: 3 },
        places: { driver: { file: "0.yaml", line: 8 } },
      },
    ],
  ));

test("a kustomize patch changes the values of a HelmRelease", () =>
  expectReleases(
    {
      "0.yaml": helmRelease,
      "1.yaml": ociRepository,
      "2.yaml": configMap,
      "3.yaml": yaml`
        kind: HelmRelease
        metadata: { name: nvidia-device-plugin }
        spec:
          values:
            runtimeClassName: mine
      `,
    },
    [
      {
        version: "0.18.2",
        missing: [],
        place: { file: "3.yaml", line: 1 },
        values: {
          gfd: { enabled: true },
          runtimeClassName: "mine",
          config: { default: "any", map: { any: "version: v1" } },
        },
        places: {
          runtimeClassName: { file: "3.yaml", line: 5 },
          "gfd.enabled": { file: "2.yaml", line: 8 },
        },
      },
    ],
  ));

test("for a kustomize patch alone, the missing HelmRelease is listed", () =>
  expectReleases(
    {
      "0.yaml": yaml`
        kind: HelmRelease
        metadata: { name: nvidia-device-plugin }
        spec: { chart: { spec: { version: 0.18.2 } } }
      `,
    },
    [{ version: "0.18.2", missing: [{ kind: "HelmRelease", name: "nvidia-device-plugin" }] }],
  ));

test("an Application is read with its file of values and its parameters", () =>
  expectReleases(
    {
      "0.yaml": yaml`
        apiVersion: argoproj.io/v1alpha1
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
      `,
      "gpu/values.yaml": driverDisabledFile,
    },
    [
      {
        chart: "gpu-operator",
        by: "Argo CD",
        name: "gpu-operator",
        version: "v26.3.3",
        namespace: "gpu-operator",
        values: driverAndToolkitDisabled,
        places: {
          "driver.enabled": { file: "gpu/values.yaml", line: 2 },
          "toolkit.enabled": { file: "0.yaml", line: 19 },
        },
      },
    ],
  ));

test("a chart in a kustomization is read with its file of values and its inline values", () =>
  expectReleases(
    {
      "0.yaml": yaml`
        namespace: gpu
        kind: Kustomization
        helmCharts:
          - { name: other, version: 1.0.0 }
          - name: gpu-operator
            version: v26.3.3
            valuesFile: gpu/values.yaml
            valuesInline:
              toolkit: { enabled: false }
      `,
      "gpu/values.yaml": driverDisabledFile,
    },
    [
      {
        chart: "gpu-operator",
        by: "kustomize",
        name: "gpu-operator",
        version: "v26.3.3",
        namespace: "gpu",
        values: driverAndToolkitDisabled,
        places: {
          "driver.enabled": { file: "gpu/values.yaml", line: 2 },
          "toolkit.enabled": { file: "0.yaml", line: 9 },
        },
      },
    ],
  ));

test("a chart that depends on NVIDIA's chart is read with its values", () =>
  expectReleases(
    {
      "gpu/Chart.yaml": yaml`
        apiVersion: v2
        name: gpus
        version: 1.0.0
        dependencies:
          - { name: other, version: 1.0.0 }
          - name: gpu-operator
            alias: operator
            version: v26.3.3
      `,
      "gpu/values.yaml": yaml`
        other: {}
        operator:
          driver:
            enabled: false
      `,
    },
    [
      {
        chart: "gpu-operator",
        by: "a chart",
        version: "v26.3.3",
        versionPlace: { file: "gpu/Chart.yaml", line: 8 },
        values: driverDisabled,
        places: { "driver.enabled": { file: "gpu/values.yaml", line: 4 } },
      },
    ],
  ));

test("for a chart that depends on NVIDIA's chart, the missing file of values is listed", () =>
  expectReleases(
    {
      "gpu/Chart.yaml": yaml`
        name: gpus
        dependencies:
          - { name: gpu-operator, version: v26.3.3 }
      `,
    },
    [
      {
        by: "a chart",
        version: "v26.3.3",
        missing: [{ kind: "values file", name: "values.yaml" }],
      },
    ],
  ));

test("a file of values is read as a release of the chart that has the values", () =>
  expectReleases({ "0.yaml": yaml`deviceListStrategy: envvar` }, [
    { chart: "nvidia-device-plugin", by: "values" },
  ]));

// The place of a patched release is that of its patch.
test("a patch applies to the release in the same folder", () =>
  expectReleases({ "a/r.yaml": releaseV1, "b/r.yaml": releaseV2, "b/patch.yaml": toolkitPatch }, [
    { place: { file: "a/r.yaml" }, version: "v1.0.0", values: driverDisabled, missing: [] },
    {
      place: { file: "b/patch.yaml" },
      version: "v2.0.0",
      values: driverAndToolkitDisabled,
      missing: [],
    },
  ]));

test("a patch applies to a release that the kustomization includes by way of a base", () =>
  expectReleases(
    {
      "base/kustomization.yaml": yaml`resources: [./in/r.yaml]`,
      "base/in/r.yaml": releaseV1,
      "c/a/patch.yaml": toolkitPatch,
      "c/a/kustomization.yaml": yaml`
        resources: [../../base]
        patches: [{ path: patch.yaml }]
      `,
      "c/b/r.yaml": releaseV2,
    },
    [
      {
        place: { file: "c/a/patch.yaml" },
        version: "v1.0.0",
        values: driverAndToolkitDisabled,
        missing: [],
      },
      { place: { file: "c/b/r.yaml" }, version: "v2.0.0", values: driverDisabled, missing: [] },
    ],
  ));

test("a patch whose release is missing does not apply to another cluster's release", () =>
  expectReleases(
    {
      "a/patch.yaml": toolkitPatch,
      "a/kustomization.yaml": yaml`
        resources: [../base]
        patches: [{ path: patch.yaml }]
      `,
      "b/r.yaml": releaseV2,
    },
    [
      {
        place: { file: "a/patch.yaml" },
        values: { toolkit: { enabled: false } },
        missing: [{ kind: "HelmRelease", name: "gpu-operator" }],
      },
      { place: { file: "b/r.yaml" }, version: "v2.0.0", values: driverDisabled, missing: [] },
    ],
  ));

test("of several OCIRepositories with the same name, only that of the release's folder is read", () =>
  expectReleases(
    {
      "a/r.yaml": releaseOfOciRepository,
      "a/o.yaml": yaml`
        kind: OCIRepository
        metadata: { name: gpu }
        spec: { url: oci://a/gpu-operator, ref: { tag: v26.3.3 } }
      `,
      "b/o.yaml": yaml`
        kind: OCIRepository
        metadata: { name: gpu }
        spec: { url: oci://a/gpu-operator, ref: { tag: v25.3.3 } }
      `,
      "c/gpu-operator.yaml": releaseOfOciRepository,
    },
    [
      { place: { file: "a/r.yaml" }, version: "v26.3.3", values: driverDisabled, missing: [] },
      {
        place: { file: "c/gpu-operator.yaml" },
        values: driverDisabled,
        missing: [{ kind: "OCIRepository", name: "gpu" }],
      },
    ],
  ));

test("a helmfile release is read with inline values, files of values and single values", () =>
  expectReleases(
    {
      "helmfile.yaml": yaml`
        repositories: [{ name: nvidia }]
        releases:
          - name: cilium
            chart: cilium/cilium
          - name: gpu-operator
            namespace: gpu
            chart: nvidia/gpu-operator
            version: v26.3.3
            values:
              - driver: { enabled: false }
              - ./values/gpu.yaml
              - ./values/more.yaml.gotmpl
            secrets: [secrets.yaml]
            set:
              - { name: toolkit.enabled, value: false }
          - { name: old, chart: nvidia/gpu-operator, installed: false }
      `,
      "values/gpu.yaml": yaml`cdi: { enabled: true }`,
      "other/values/gpu.yaml": yaml`other: any`,
    },
    [
      {
        place: { file: "helmfile.yaml" },
        version: "v26.3.3",
        values: { driver: { enabled: false }, cdi: { enabled: true }, toolkit: { enabled: false } },
        missing: [
          { kind: "Secret", name: "secrets.yaml" },
          { kind: "values file", name: "./values/more.yaml.gotmpl" },
        ],
      },
    ],
  ));

test("files that cannot be read are listed, and files about other things are skipped", () => {
  const texts = [
    "kind: [\n",
    "apiVersion: v1\nkind: Secret\n",
    "a: 1\n",
    "- 1\n",
    "{{ template }}\n",
    "",
  ];
  const { releases, flaws } = releasesIn(
    texts.map((text, index) => ({ name: `${index}.yaml`, text })),
  );
  expect(releases).toEqual([]);
  expect(flaws.map(({ file }) => file)).toEqual(["0.yaml"]);
});
