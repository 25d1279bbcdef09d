import { releasesIn } from "../../../components/recipe/external/read";

const helmRelease =
  "kind: HelmRelease\nmetadata: { name: nvidia-device-plugin }\nspec: { chart: { spec: { chart: nvidia-device-plugin } } }\n";
const appFolder = "kubernetes/apps/kube-system/nvidia-device-plugin/app";

/** A Flux Kustomization of a path, with further lines of its spec. */
const fluxKustomization = (path: string, specLines: string): string =>
  `apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: { name: x }\nspec:\n  path: ${path}\n${specLines}`;

const namespaceIn = (files: Record<string, string>): string | undefined => {
  const { releases } = releasesIn(Object.entries(files).map(([name, text]) => ({ name, text })));
  expect(releases).toHaveLength(1);
  return releases[0]!.namespace;
};

test.each<[source: string, files: Record<string, string>, namespace: string]>([
  [
    "the Flux Kustomization whose path has the file",
    {
      [`../${appFolder}/helmrelease.yaml`]: helmRelease,
      "../kubernetes/apps/kube-system/nvidia-device-plugin/ks.yaml": fluxKustomization(
        `./${appFolder}`,
        "  targetNamespace: kube-system\n",
      ),
    },
    "kube-system",
  ],
  [
    "the nearest of several Flux Kustomizations, in files with absolute names",
    {
      [`/home/a/home-ops/${appFolder}/helmrelease.yaml`]: helmRelease,
      "/home/a/home-ops/kubernetes/flux/apps.yaml": fluxKustomization(
        "./kubernetes/apps",
        "  targetNamespace: flux-system\n",
      ),
      "/home/a/home-ops/kubernetes/apps/ks.yaml": fluxKustomization(
        `./${appFolder}`,
        "  targetNamespace: kube-system\n",
      ),
      "/home/a/home-ops/kubernetes/apps/other/ks.yaml": fluxKustomization(
        "./kubernetes/apps/other/app",
        "  targetNamespace: other\n",
      ),
    },
    "kube-system",
  ],
  [
    "the Flux Kustomization, also if the file's name begins below the repository's root",
    {
      "nvidia/app/helmrelease.yaml": helmRelease,
      "nvidia/ks.yaml": fluxKustomization("./clusters/nvidia/app", "  targetNamespace: gpu\n"),
    },
    "gpu",
  ],
  [
    "the Flux Kustomization, also if kustomize and the object set other namespaces",
    {
      "a/app/helmrelease.yaml": helmRelease.replace("metadata: {", "metadata: { namespace: own,"),
      "a/app/kustomization.yaml": "namespace: inner\nresources: [helmrelease.yaml]\n",
      "a/ks.yaml": fluxKustomization("./a/app", "  targetNamespace: outer\n"),
    },
    "outer",
  ],
  [
    "the outermost kustomization that includes the file",
    {
      "a/app/helmrelease.yaml": helmRelease.replace("metadata: {", "metadata: { namespace: own,"),
      "a/app/kustomization.yaml": "namespace: inner\nresources: [./helmrelease.yaml]\n",
      "a/kustomization.yaml": "kind: Kustomization\nnamespace: outer\nresources: [app, ../b]\n",
      "b/kustomization.yaml": "namespace: other\nresources: [x.yaml]\n",
    },
    "outer",
  ],
  [
    "a kustomization that includes the file's folder, if this folder has no kustomization",
    {
      "a/app/helmrelease.yaml": helmRelease,
      "a/kustomization.yaml": "namespace: gpu\nresources: [./app]\n",
    },
    "gpu",
  ],
  [
    "targetNamespace of the HelmRelease, also if a Flux Kustomization sets another namespace",
    {
      "a/app/helmrelease.yaml": `${helmRelease.trim().slice(0, -1)}, targetNamespace: release }\n`,
      "a/ks.yaml": fluxKustomization("./a/app", "  targetNamespace: outer\n"),
    },
    "release",
  ],
])("the namespace of a release comes from %s", (_, files, namespace) =>
  expect(namespaceIn(files)).toBe(namespace),
);

test.each<[reason: string, files: Record<string, string>]>([
  [
    "two Kustomizations of the path disagree",
    {
      "a/helmrelease.yaml": helmRelease,
      "b/ks.yaml": fluxKustomization("./a", "  targetNamespace: one\n"),
      "c/ks.yaml": fluxKustomization("./a", "  targetNamespace: two\n"),
    },
  ],
  [
    "Flux fills in the namespace",
    {
      "a/helmrelease.yaml": helmRelease,
      "ks.yaml": fluxKustomization("./a", "  targetNamespace: ${NAMESPACE}\n"),
    },
  ],
  [
    "no file sets the namespace",
    { "a/helmrelease.yaml": helmRelease, "kustomization.yaml": "resources: [a]\n" },
  ],
])("the namespace of a release is unknown if %s", (_, files) =>
  expect(namespaceIn(files)).toBeUndefined(),
);

test("the namespace of a release is known if two Kustomizations of the path agree", () => {
  const kustomization = fluxKustomization("./a", "  targetNamespace: gpu\n");
  expect(
    namespaceIn({
      "a/helmrelease.yaml": helmRelease,
      "b/ks.yaml": kustomization,
      "c/ks.yaml": kustomization,
    }),
  ).toBe("gpu");
});
