import * as fs from "node:fs";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import type { FileFinding } from "../../../cli/check/judge-files";
import { check } from "../../../cli/check/verb";
import { importFiles } from "../../../cli/import/verb";
import { repositoryFactory, runVerb } from "../support";

const makeRepository = repositoryFactory();

/** Findings of `check` on a repository with these files; their paths are relative to the repository. */
async function findingsIn(files: Record<string, string>): Promise<FileFinding[]> {
  const folder = makeRepository(files);
  const { stdout } = await runVerb("check", check, [folder, "--json"]);
  const { findings } = JSON.parse(stdout) as { findings: FileFinding[] };
  return findings.map((finding) => ({ ...finding, file: path.relative(folder, finding.file) }));
}

/** The problem of each finding, with its file and its Talos versions. */
const problemsIn = async (files: Record<string, string>): Promise<string[]> =>
  (await findingsIn(files)).map(
    ({ file, problem, talos }) => `${file} ${problem} (${talos.join()})`,
  );

const defaultRuntime =
  "machine:\n  files:\n    - op: create\n      path: /etc/cri/conf.d/20-customization.part\n      content: |\n" +
  '        [plugins."io.containerd.cri.v1.runtime".containerd]\n          default_runtime_name = "nvidia"\n';

const talconfig = (release: string, patches: string[] = []): string =>
  stringify({
    talosVersion: release,
    nodes: [
      { hostname: "gpu", ipAddress: "192.0.2.1", kernelModules: [{ name: "nvidia" }], patches },
    ],
  });

const plugin = (values: object): string =>
  stringify({
    apiVersion: "helm.toolkit.fluxcd.io/v2",
    kind: "HelmRelease",
    metadata: { name: "nvidia-device-plugin" },
    spec: { chart: { spec: { chart: "nvidia-device-plugin", version: "0.19.3" } }, values },
  });

describe("two clusters of one repository", () => {
  test("do not share a GPU provider", async () => {
    const operator = plugin({})
      .replaceAll("nvidia-device-plugin", "gpu-operator")
      .replace("0.19.3", "v26.3.3");
    const findings = await findingsIn({
      "kubernetes/home/talos/talconfig.yaml": talconfig("v1.13.6", [defaultRuntime]),
      "kubernetes/home/apps/operator/release.yaml": operator,
      "kubernetes/lab/talos/talconfig.yaml": talconfig("v1.13.6", [defaultRuntime]),
    });
    const remedies = findings
      .filter((finding) => finding.check === "default-runtime")
      .map(({ file, remedy }) => `${file} ${remedy}`);
    expect(remedies).toEqual([
      expect.stringMatching(
        /^kubernetes\/home\/talos\/talconfig\.yaml .*by CDI, without runtimeClassName/,
      ),
      expect.stringMatching(/^kubernetes\/lab\/talos\/talconfig\.yaml .*runtimeClassName: nvidia/),
    ]);
  });

  test("have their charts and pods checked for their own Talos releases", async () => {
    const podOfClass = stringify({
      kind: "Pod",
      apiVersion: "v1",
      metadata: { name: "a" },
      spec: { runtimeClassName: "nvidia" },
    });
    const lines = await problemsIn({
      "talos/home/talconfig.yaml": talconfig("v1.12.6"),
      "flux/home/plugin/release.yaml": plugin({ nope: 1 }),
      "talos/lab/talconfig.yaml": talconfig("v1.14.1"),
      "flux/lab/plugin/release.yaml": plugin({ nope: 1 }),
      "flux/lab/pod.yaml": podOfClass,
    });
    expect(lines.filter((line) => line.includes("nope"))).toEqual([
      expect.stringMatching(/^flux\/home\/.*\(v1\.12\.6\)$/),
      expect.stringMatching(/^flux\/lab\/.*\(v1\.14\.1\)$/),
    ]);
  });

  test("share a patch in their common parent folder, and check reports it for both releases", async () => {
    const lines = await problemsIn({
      "talos/home/talconfig.yaml": talconfig("v1.12.6"),
      "talos/lab/talconfig.yaml": talconfig("v1.13.6"),
      "talos/patches/all.yaml": "machine:\n  sysctl: {}\n",
    });
    expect(lines).toEqual([
      expect.stringMatching(
        /^talos\/patches\/all\.yaml machine\.sysctl .*\(v1\.12\.6,v1\.13\.6\)$/,
      ),
    ]);
  });

  test("are imported with the charts of their folders", async () => {
    const folder = makeRepository({
      "kubernetes/home/talos/talconfig.yaml": talconfig("v1.13.6"),
      "kubernetes/home/apps/plugin/release.yaml": plugin({}),
      "kubernetes/lab/talos/talconfig.yaml": talconfig("v1.13.6"),
      "kubernetes/lab/apps/plugin/release.yaml": plugin({}),
    });
    const { stdout } = await runVerb("import", importFiles, [
      path.join(folder, "kubernetes/lab/talos/talconfig.yaml"),
      "--gpu=gpu=L4",
      "--out",
      path.join(folder, "stack.yaml"),
    ]);
    expect(stdout).toBe("");
    const { config } = parse(fs.readFileSync(path.join(folder, "stack.yaml"), "utf8")) as {
      config: object;
    };
    expect(config).toMatchObject({
      "talos-gpu:external": { files: ["kubernetes/lab/apps/plugin/release.yaml"] },
    });
  });
});

describe("check reports nothing about", () => {
  test.each<[string, Record<string, string>]>([
    [
      "AMD's operator, whose chart has a similar name",
      {
        "app.yaml": stringify({
          apiVersion: "argoproj.io/v1alpha1",
          kind: "Application",
          metadata: { name: "gpu" },
          spec: {
            source: {
              repoURL: "https://rocm.github.io/gpu-operator",
              chart: "gpu-operator-charts",
              targetRevision: "v1.5.0",
            },
          },
        }),
        "release.yaml": stringify({
          apiVersion: "helm.toolkit.fluxcd.io/v2",
          kind: "HelmRelease",
          metadata: { name: "gpu-operator" },
          spec: {
            chart: {
              spec: {
                chart: "gpu-operator-charts",
                version: "v1.5.0",
                sourceRef: { kind: "HelmRepository", name: "rocm" },
              },
            },
          },
        }),
        "helmfile.yaml": stringify({
          releases: [{ name: "gpu", chart: "rocm/gpu-operator-charts", version: "v1.5.0" }],
        }),
        "kustomization.yaml": stringify({
          helmCharts: [
            {
              name: "gpu-operator-charts",
              repo: "https://rocm.github.io/gpu-operator",
              version: "v1.5.0",
            },
          ],
        }),
      },
    ],
    [
      "an object of another tool with the apiVersion v1alpha1",
      {
        "cluster.yaml":
          "apiVersion: v1alpha1\nkind: TalosCluster\nmetadata: { name: a }\nspec: { controlplanes: { count: 1 } }\n",
      },
    ],
    [
      "a schematic's kernel argument talos.platform",
      {
        "schematic.yaml": stringify({
          customization: {
            extraKernelArgs: ["talos.platform=nocloud"],
            systemExtensions: { officialExtensions: ["siderolabs/zfs"] },
          },
        }),
      },
    ],
    [
      "an image with a variable in its tag",
      {
        "pod.yaml": stringify({
          apiVersion: "v1",
          kind: "Pod",
          metadata: { name: "a" },
          spec: {
            containers: [
              {
                image: {
                  repository: "ghcr.io/example/machine-learning",
                  tag: "{{ .Values.version }}-cuda",
                },
                resources: { limits: { "nvidia.com/gpu": 1 } },
              },
            ],
          },
        }),
      },
    ],
  ])("%s", async (_, files) => {
    expect(await problemsIn(files)).toEqual([]);
  });
});

test("a patch in a repository without talhelper is checked for the release that tuppr installs", async () => {
  const lines = await problemsIn({
    "talos/a.yaml": "machine:\n  sysctl: {}\n",
    "apps/upgrade.yaml": stringify({
      apiVersion: "tuppr.home-operations.com/v1alpha1",
      kind: "TalosUpgrade",
      metadata: { name: "talos" },
      spec: { talos: { version: "v1.12.6" } },
    }),
  });
  expect(lines).toEqual([expect.stringMatching(/machine\.sysctl .*\(v1\.12\.6\)$/)]);
});

test("kernel arguments without effect are reported with their line", async () => {
  const text = `talosVersion: v1.9.6\nnodes:\n  - hostname: gpu\n    ipAddress: 192.0.2.1\n    schematic:\n      customization:\n        extraKernelArgs: [pci=realloc]\n`;
  const { stdout } = await runVerb("check", check, [
    makeRepository({ "talconfig.yaml": text }),
    "--json",
  ]);
  const { findings } = JSON.parse(stdout) as { findings: FileFinding[] };
  expect(findings.map(({ line, problem }) => `${line} ${problem}`)).toEqual([
    expect.stringMatching(/^7 kernelArgs: is set/),
  ]);
});
