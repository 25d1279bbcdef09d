import type { Workload } from "../../../components/clients/kubernetes/gpu-offers";
import type { PreflightTask } from "../../../components/program/preflight/task";
import { runPreflight } from "./run-preflight";

type Installs = NonNullable<PreflightTask["installs"]>;

const plugin: Installs = {
  field: "devicePlugin",
  release: "nvidia-device-plugin",
  namespace: "nvidia-device-plugin",
};
const operator: Installs = {
  field: "gpuOperator",
  release: "gpu-operator",
  namespace: "gpu-operator",
};
const dra: Installs = { field: "dra", release: "dra-driver-nvidia-gpu", namespace: "dra" };

/** A DaemonSet that runs an image. */
const daemonSet = (
  namespace: string,
  name: string,
  image: string,
  metadata: Workload["metadata"] = {},
): Workload => ({
  kind: "DaemonSet",
  metadata: { namespace, name, ...metadata },
  spec: { selector: {}, template: { spec: { containers: [{ name: "main", image }] } } },
});

const pluginImage = "nvcr.io/nvidia/k8s-device-plugin:v0.17.4";
const operatorImage = "nvcr.io/nvidia/gpu-operator:v26.3.3";
const fluxLabels = {
  "helm.toolkit.fluxcd.io/name": "nvdp",
  "helm.toolkit.fluxcd.io/namespace": "kube-system",
};
const helmAnnotations = (name: string, namespace: string) => ({
  "meta.helm.sh/release-name": name,
  "meta.helm.sh/release-namespace": namespace,
});

/** Findings of the preflight for an update that installs something into a cluster with these workloads. */
async function findingsFor(
  installs: Installs | undefined,
  workloads: Workload[],
  withoutPlugin = false,
): Promise<string[]> {
  const { outcome } = await runPreflight({ installs, workloads, withoutPlugin });
  return Array.isArray(outcome) ? outcome : [];
}

describe("the preflight refuses", () => {
  test.each<[string, Installs, Workload, string[]]>([
    [
      "a plugin that Flux manages",
      operator,
      daemonSet("kube-system", "nvdp-nvidia-device-plugin", pluginImage, { labels: fluxLabels }),
      [
        "gpuOperator: the cluster already has a device plugin (DaemonSet kube-system/nvdp-nvidia-device-plugin, managed by Flux' HelmRelease kube-system/nvdp)",
        "write `external: { kind: devicePlugin, namespace: kube-system }` instead of gpuOperator",
        "remove Flux' HelmRelease kube-system/nvdp from its repository, then run again",
      ],
    ],
    [
      "an operator that Argo CD manages",
      plugin,
      daemonSet("gpu", "gpu-operator", operatorImage, {
        annotations: { "argocd.argoproj.io/tracking-id": "gpu:apps/Deployment:gpu/gpu-operator" },
      }),
      ["managed by Argo CD's Application gpu)", "argocd app delete gpu"],
    ],
    [
      "a plugin of the same chart that Helm installed in another namespace",
      plugin,
      daemonSet("kube-system", "nvdp", pluginImage, {
        annotations: helmAnnotations("nvdp", "kube-system"),
      }),
      ["Helm release kube-system/nvdp", "helm uninstall nvdp -n kube-system"],
    ],
    [
      "a plugin from a manifest",
      plugin,
      daemonSet(
        "kube-system",
        "nvidia-device-plugin-daemonset",
        "ghcr.io/mirror/k8s-device-plugin@sha256:0",
      ),
      [
        "of an unknown owner",
        "kubectl delete daemonset nvidia-device-plugin-daemonset -n kube-system",
      ],
    ],
    [
      "the DRA driver's former chart",
      plugin,
      daemonSet("dra", "kubelet-plugin", "registry.example.com/own:1", {
        labels: { "helm.sh/chart": "nvidia-dra-driver-gpu-25.8.0" },
      }),
      ["devicePlugin: the cluster already has a DRA driver"],
    ],
  ])("%s", async (_, installs, workload, parts) => {
    const findings = await findingsFor(installs, [workload]);
    expect(findings).toHaveLength(1);
    for (const part of parts) expect(findings[0]).toContain(part);
  });
});

describe("the preflight accepts", () => {
  test.each<[string, Installs | undefined, Workload]>([
    [
      "the stack's own release",
      plugin,
      daemonSet("nvidia-device-plugin", "nvidia-device-plugin", pluginImage, {
        annotations: helmAnnotations("nvidia-device-plugin", "nvidia-device-plugin"),
      }),
    ],
    [
      "a release that the stack takes over from Flux",
      { ...plugin, release: "nvdp", namespace: "kube-system" },
      daemonSet("kube-system", "nvdp", pluginImage, {
        labels: fluxLabels,
        annotations: helmAnnotations("nvdp", "kube-system"),
      }),
    ],
    [
      "a provider that Pulumi installed, such as the one of the previous update",
      operator,
      daemonSet("nvidia-device-plugin", "nvidia-device-plugin", pluginImage, {
        managedFields: [{ manager: "pulumi-resource-kubernetes" }],
      }),
    ],
    [
      "an external release",
      undefined,
      daemonSet("kube-system", "nvdp", pluginImage, { labels: fluxLabels }),
    ],
    [
      "a DaemonSet of the stack's own operator",
      operator,
      daemonSet("gpu-operator", "nvidia-device-plugin-daemonset", pluginImage, {
        ownerReferences: [
          { apiVersion: "nvidia.com/v1", kind: "ClusterPolicy", name: "cluster-policy", uid: "1" },
        ],
      }),
    ],
    [
      "AMD's plugin, whose image has the same name",
      plugin,
      daemonSet("amd", "amdgpu", "rocm/k8s-device-plugin:1.31"),
    ],
    [
      "AMD's operator",
      operator,
      daemonSet("amd", "amd-gpu-operator", "rocm/gpu-operator:v1.4.0", {
        labels: { "helm.sh/chart": "gpu-operator-charts-v1.4.0" },
      }),
    ],
    [
      "GPU Feature Discovery of the plugin's chart",
      operator,
      daemonSet("kube-system", "nvdp-gpu-feature-discovery", pluginImage),
    ],
  ])("%s", async (_, installs, workload) =>
    expect(await findingsFor(installs, [workload])).toEqual([]),
  );

  test("a provider in a namespace of this stack, but not in a namespace of another stack", async () => {
    const workloads = [daemonSet("former", "nvidia-device-plugin", pluginImage)];
    const outcomeWithOwner = async (owner: string) =>
      (await runPreflight({ installs: operator, workloads, namespaceOwners: { former: owner } }))
        .outcome;
    expect(await outcomeWithOwner("shop/prod/ns 77")).toHaveProperty("machines");
    expect(await outcomeWithOwner("shop/test/ns 77")).toHaveLength(1);
  });

  test("an operator next to the DRA driver only if the operator's plugin is off", async () => {
    const workload = daemonSet("gpu", "gpu-operator", operatorImage, {
      annotations: helmAnnotations("gpu-operator", "gpu"),
    });
    expect(await findingsFor(dra, [workload], true)).toEqual([]);
    expect(await findingsFor(dra, [workload])).toHaveLength(1);
    expect(await findingsFor(operator, [workload], true)).toHaveLength(1);
  });
});

const workloadsWithPlugin = [
  daemonSet("kube-system", "nvidia-device-plugin-daemonset", pluginImage),
];

test("the preflight repeats a request for other GPU providers that got no answer", async () => {
  const { outcome } = await runPreflight({
    installs: plugin,
    workloads: workloadsWithPlugin,
    workloadErrors: ["503"],
  });
  expect(outcome).toHaveLength(1);
});

test("if Kubernetes never answers, the preflight reports that other GPU providers are unknown", async () => {
  const { outcome, lines } = await runPreflight({
    installs: plugin,
    workloads: workloadsWithPlugin,
    workloadErrors: Array(1_000).fill("503"),
  });
  expect(outcome).toHaveProperty("machines");
  expect(lines).toContainEqual(
    expect.stringMatching(/^not known whether another GPU provider runs in the cluster/),
  );
});

describe("an existing RuntimeClass", () => {
  const warningsFor = async (installs: Installs, policy?: string): Promise<string[]> => {
    const { lines } = await runPreflight({
      installs,
      runtimeClass: { policy, handler: "nvidia", annotations: {} },
    });
    return lines.filter((line) => line.startsWith("warning"));
  };

  test("causes a warning that the operator deletes it", async () => {
    expect(await warningsFor(operator)).toEqual([
      expect.stringMatching(/the operator takes it over, and deletes it when/),
    ]);
  });

  test("causes no warning if the operator owns it, or if the stack installs no operator", async () => {
    expect(await warningsFor(operator, "cluster-policy")).toEqual([]);
    expect(await warningsFor(plugin)).toEqual([]);
  });
});
