import { diagnose, differences, type Observations } from "../../components/diagnosis";
import { type ClusterSpec, type ExternalSpec, planCluster } from "../../components/recipe";
import { asPlanned } from "./as-planned";

const machines: ClusterSpec["machines"] = {
  gpu: {
    address: "192.0.2.1",
    role: "worker",
    configuration: "adopted",
    gpus: [{ model: "RTX 3090" }],
  },
};
const planWith = (external: ExternalSpec) =>
  planCluster({
    talosVersion: "v1.12.6",
    machines,
    external: { kind: "devicePlugin", ...external },
  });

/**
 * The report's remedies for an external release that is gone. They depend on its owner, if the stack knows it, and
 * on the objects that are left.
 */
function remediesOf(external: ExternalSpec, remaining: Observations = {}): (string | undefined)[] {
  const plan = planWith(external);
  const observations = asPlanned(plan);
  const namespace = plan.kubernetes.namespace;
  const stackObjects = {
    jobs: observations.jobs!.map((job) => ({ ...job, namespace })),
    namespaces: [{ name: namespace, labels: plan.kubernetes.namespaceLabels ?? {} }],
  };
  return differences(
    { ...observations, ...stackObjects, daemonSets: [], pods: [], ...remaining },
    plan,
  ).map(({ remedy }) => remedy);
}

test.each<[string, ExternalSpec, string]>([
  [
    "the command of Flux",
    { read: { by: "Flux", name: "nvdp", namespace: "kube-system" } },
    "Flux' HelmRelease kube-system/nvdp installs the GPU provider, and `pulumi up` does not: run `flux reconcile helmrelease nvdp -n kube-system --force`",
  ],
  [
    "the command of Argo CD",
    { read: { by: "Argo CD", name: "gpu", namespace: "gpu" } },
    "Argo CD's Application gpu installs the GPU provider, and `pulumi up` does not: run `argocd app sync gpu`",
  ],
  [
    "the commands of several tools if the owner is unknown",
    {},
    "this stack does not install the GPU provider: install it again with the tool that manages it (Flux: `flux reconcile helmrelease NAME --force`; Argo CD: `argocd app sync NAME`; Helm: `helm upgrade`)",
  ],
])("the remedy for a missing external release has %s", (_, external, remedy) => {
  expect(remediesOf(external)).toEqual([remedy]);
});

test("the owner that remaining objects show takes precedence over the stack's files", () => {
  const labels = { "helm.sh/chart": "nvidia-device-plugin-0.17.4" };
  const managedBy = { by: "Helm", name: "nvdp", namespace: "gpu" } as const;
  const daemonSet = {
    namespace: "gpu",
    name: "nvdp-nvidia-device-plugin",
    labels,
    managedBy,
    desired: 1,
    ready: 0,
  };
  expect(
    remediesOf({ namespace: "gpu", read: { by: "Flux" } }, { daemonSets: [daemonSet] }),
  ).toEqual([
    "Helm release gpu/nvdp installs the GPU provider, and `pulumi up` does not: run `helm upgrade nvdp CHART -n gpu --reuse-values`",
  ]);
});

test("the remedy for a missing RuntimeClass names its owner", () => {
  const { daemonSets, pods } = asPlanned(planWith({ namespace: "gpu" })) as Required<Observations>;
  expect(
    remediesOf(
      { namespace: "gpu", read: { by: "Flux" } },
      { daemonSets, pods, runtimeClasses: [] },
    ),
  ).toEqual([
    "this stack does not create the RuntimeClass: Flux must create it with `handler: nvidia`",
  ]);
});

test("the remedy for a cordoned node is kubectl uncordon", () => {
  const plan = planWith({ namespace: "gpu" });
  const { daemonSets, pods, nodes } = asPlanned(plan) as Required<Observations>;
  const cordoned = nodes.map((node) => ({ ...node, unschedulable: true }));
  expect(remediesOf({ namespace: "gpu" }, { daemonSets, pods, nodes: cordoned })).toEqual([
    "kubectl uncordon gpu",
  ]);
});

test("the remedy for a known cause in an external release names its owner", () => {
  const plan = planWith({ namespace: "gpu", read: { by: "Flux" } });
  const event = {
    namespace: "gpu",
    object: "DaemonSet/nvidia-device-plugin",
    message:
      'Error creating: pods "x" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes',
  };
  const [cause] = diagnose({ ...asPlanned(plan), events: [event] }, plan);
  expect(cause).toMatchObject({
    fix: "privilegedNamespace",
    remedy: expect.stringMatching(
      /^this stack does not install the GPU provider: Flux must make sure that the release's/,
    ) as string,
  });
});
