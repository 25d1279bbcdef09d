import type { KubernetesObject } from "@kubernetes/client-node";
import { CallError } from "../../../components/clients/failure";
import type { KubernetesManifest } from "../../../components/clients/talos/talos-machine";
import { type FakeCluster, schematics } from "../fakes";
import { runUpgrade, type UpgradeRun } from "./scenario";

// kube-proxy, CoreDNS and flannel of a cluster that the stack bootstrapped.

const [OLD, NEW] = ["v1.35.2", "v1.36.0"];
const [oldDns, newDns] = ["v1.12.1", "v1.13.2"];

const proxyImage = (release: string): string => `registry.k8s.io/kube-proxy:${release}`;
const dnsImage = (release: string): string => `registry.k8s.io/coredns/coredns:${release}`;

function workload(kind: "DaemonSet" | "Deployment", name: string, image: string) {
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name, namespace: "kube-system" },
    spec: { replicas: 2, template: { spec: { containers: [{ name, image }] } } },
  };
}

const account = {
  apiVersion: "v1",
  kind: "ServiceAccount",
  metadata: { name: "coredns", namespace: "kube-system" },
};

const manifests: KubernetesManifest[] = [
  {
    id: "00-kubelet-bootstrapping-token",
    objects: [{ apiVersion: "v1", kind: "Secret", metadata: { name: "bootstrap-token" } }],
  },
  { id: "10-kube-proxy", objects: [workload("DaemonSet", "kube-proxy", proxyImage(NEW))] },
  {
    id: "11-core-dns",
    objects: [account, workload("Deployment", "coredns", dnsImage(newDns))],
  },
  // A user's own manifest.
  { id: "99-mine", objects: [workload("Deployment", "mine", "example.org/mine:2")] },
];

const live = (
  object: ReturnType<typeof workload>,
  metadata: KubernetesObject["metadata"] = {},
): KubernetesObject & typeof object => ({
  ...object,
  metadata: { ...object.metadata, ...metadata },
});

const objectsInCluster = (proxy = OLD, dns = oldDns): Map<string, KubernetesObject> =>
  new Map([
    ["kube-proxy", live(workload("DaemonSet", "kube-proxy", proxyImage(proxy)))],
    ["coredns", live(workload("Deployment", "coredns", dnsImage(dns)))],
    ["mine", live(workload("Deployment", "mine", "example.org/mine:1"))],
  ]);

const configuration = "machine: { type: controlplane }\n";

const run: Pick<UpgradeRun, "task" | "machine"> = {
  task: {
    configuration: "owned",
    role: "controlplane",
    installs: true,
    addons: true,
    modules: [],
    driverVersion: undefined,
    extensionServices: [],
    schematicId: schematics.plain,
  },
  machine: {
    talosVersion: "v1.12.6",
    etcdState: "Running",
    active: configuration,
    persistent: configuration,
    kubernetesManifests: manifests,
  },
};

const cluster = (
  addonObjects: FakeCluster["addonObjects"],
  fields: Partial<FakeCluster> = {},
): Partial<FakeCluster> => ({ addonObjects, ...fields });

test("addons with other images than the manifests are applied, and the run ends when their pods run", () =>
  runUpgrade({
    ...run,
    cluster: cluster(objectsInCluster()),
    expect: {
      result: { rebooted: false },
      machineCalls: [],
      kubernetesCalls: [
        "apply DaemonSet kube-proxy by talos",
        "apply ServiceAccount coredns by talos",
        "apply Deployment coredns by talos",
      ],
      phaseSeconds: { addons: 15 },
      logs: [
        `addons: kube-proxy ${OLD} → ${NEW}, coredns ${oldDns} → ${newDns}, up to 10m`,
        "addons: Kubernetes has not begun to update kube-proxy, Kubernetes has not begun to update coredns",
      ],
    },
  }));

test("addons that agree with the manifests stay as they are", () =>
  runUpgrade({
    ...run,
    cluster: cluster(objectsInCluster(NEW, newDns)),
    expect: { result: { rebooted: false }, changesNothing: true, logs: ["equal: "] },
  }));

test("addons that the cluster lacks are not created", () =>
  runUpgrade({
    ...run,
    cluster: cluster(new Map()),
    expect: { result: { rebooted: false }, changesNothing: true },
  }));

test.each<[string, UpgradeRun["task"]]>([
  ["without `addons`", { addons: false }],
  ["that only reboots the machine", { reboots: true }],
])("a task %s changes no addon", (_, task) =>
  runUpgrade({
    ...run,
    task: { ...run.task, ...task },
    cluster: cluster(objectsInCluster()),
    expect: { result: {}, logsNever: ["addons:", "kube-proxy"] },
  }),
);

const contentFields = { "f:spec": { "f:template": { "f:spec": { "f:containers": {} } } } };

test.each<[string, KubernetesObject["metadata"], string]>([
  [
    "Helm manages",
    { annotations: { "meta.helm.sh/release-name": "coredns" } },
    "Helm release coredns",
  ],
  [
    "a user edited",
    { managedFields: [{ manager: "kubectl-edit", fieldsV1: contentFields }] },
    "kubectl-edit",
  ],
])("an addon that %s keeps its release, and the log says why", (_, metadata, changer) => {
  const coredns = live(workload("Deployment", "coredns", dnsImage(oldDns)), metadata);
  return runUpgrade({
    ...run,
    cluster: cluster(new Map(objectsInCluster(NEW)).set("coredns", coredns)),
    expect: {
      result: { rebooted: false },
      changesNothing: true,
      logsOnce: [
        `note: coredns keeps its release (coredns ${oldDns} → ${newDns}), because ${changer} changed it`,
      ],
    },
  });
});

test("an addon that Talos made and a user restarted or scaled is updated", () => {
  const coredns = live(workload("Deployment", "coredns", dnsImage(oldDns)), {
    managedFields: [
      { manager: "talos", fieldsV1: contentFields },
      {
        manager: "kubectl-rollout",
        fieldsV1: { "f:spec": { "f:template": { "f:metadata": {} } } },
      },
      { manager: "kubectl", fieldsV1: { "f:spec": { "f:replicas": {} } } },
      { manager: "kube-controller-manager", subresource: "status", fieldsV1: { "f:status": {} } },
    ],
  });
  return runUpgrade({
    ...run,
    cluster: cluster(new Map(objectsInCluster(NEW)).set("coredns", coredns)),
    expect: {
      result: { rebooted: false },
      kubernetesCalls: [
        "apply ServiceAccount coredns by talos",
        "apply Deployment coredns by talos",
      ],
    },
  });
});

test("an addon's ConfigMap that a user edited stays, and the addon is updated", () => {
  const settings = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "coredns-settings", namespace: "kube-system" },
  };
  const managedFields = [{ manager: "kubectl-edit", fieldsV1: { "f:data": { "f:Corefile": {} } } }];
  const edited = { ...settings, metadata: { ...settings.metadata, managedFields } };
  const coredns = workload("Deployment", "coredns", dnsImage(newDns));
  return runUpgrade({
    ...run,
    machine: {
      ...run.machine,
      kubernetesManifests: [{ id: "11-core-dns", objects: [settings, coredns] }],
    },
    cluster: cluster(new Map(objectsInCluster(NEW)).set("coredns-settings", edited)),
    expect: {
      result: { rebooted: false },
      kubernetesCalls: ["apply Deployment coredns by talos"],
      logs: ["note: ConfigMap coredns-settings stays as it is, because kubectl-edit changed it"],
    },
  });
});

test("an applied object keeps the mark of Talos' inventory", async () => {
  const annotations = { "config.k8s.io/owning-inventory": "talos-bootstrap-manifests" };
  const objects = objectsInCluster(OLD, newDns);
  objects.set(
    "kube-proxy",
    live(workload("DaemonSet", "kube-proxy", proxyImage(OLD)), { annotations }),
  );
  await runUpgrade({
    ...run,
    cluster: cluster(objects),
    expect: { result: { rebooted: false } },
  });
  expect(objects.get("kube-proxy")).toMatchObject({ metadata: { annotations } });
});

test("an addon whose pods do not run fails the run, and the next run warns of them", () =>
  runUpgrade(
    {
      ...run,
      cluster: cluster(objectsInCluster(), { secondsUntilAddonsRun: undefined }),
      expect: {
        error: [
          "machines.gpu-1: the addons of Kubernetes do not run in their new release: Kubernetes has not begun to update kube-proxy",
          "(after 10m)",
          "kubectl -n kube-system get pods",
        ],
        minutes: { atLeast: 9, lessThan: 12 },
      },
    },
    {
      ...run,
      expect: {
        result: { rebooted: false },
        changesNothing: true,
        logs: [
          "warning: Kubernetes has not begun to update coredns: look at `kubectl -n kube-system get pods -o wide`",
        ],
      },
    },
  ));

test.each([
  ["DaemonSet", "kube-proxy has 1 new and 1 available pods of 2"],
  ["Deployment", "kube-proxy has 1 new and 1 available pods of 2, and 1 old pods"],
] as const)("the message about a %s whose rollout stands counts its pods", (kind, message) => {
  const object = workload(kind, "kube-proxy", proxyImage(OLD));
  const addonObjects = new Map([["kube-proxy", live(object)]]);
  return runUpgrade({
    ...run,
    machine: {
      ...run.machine,
      kubernetesManifests: [
        { id: "10-kube-proxy", objects: [workload(kind, "kube-proxy", proxyImage(NEW))] },
      ],
    },
    cluster: cluster(addonObjects, { runningAddonPods: 1 }),
    expect: { error: [message] },
  });
});

test("a DaemonSet's pods are not awaited while a node is off, since Kubernetes then replaces none", () => {
  const nodeOf = (name: string, silent: boolean) => ({
    name,
    bootId: name,
    addresses: [],
    kubelet: OLD,
    silent,
  });
  return runUpgrade({
    ...run,
    machine: {
      ...run.machine,
      kubernetesManifests: [
        { id: "10-kube-proxy", objects: [workload("DaemonSet", "kube-proxy", proxyImage(NEW))] },
      ],
    },
    cluster: cluster(objectsInCluster(), {
      secondsUntilAddonsRun: undefined,
      nodes: () => Promise.resolve([nodeOf("gpu-1", false), nodeOf("desk", true)]),
    }),
    expect: {
      result: { rebooted: false },
      logs: [/^warning: the new pods of kube-proxy are not awaited: .* back: desk$/],
    },
  });
});

test("a Kubernetes API that does not answer for a while is asked again", () =>
  runUpgrade({
    ...run,
    cluster: cluster(objectsInCluster(), { unansweredReads: 3 }),
    expect: { result: { rebooted: false }, logs: ["addons: kube-proxy"] },
  }));

test("a refused request fails the run with the reason of Kubernetes", () =>
  runUpgrade({
    ...run,
    cluster: cluster(objectsInCluster(), {
      applyError: new CallError("refused", 'daemonsets "kube-proxy" is forbidden'),
    }),
    expect: {
      error: [
        'machines.gpu-1: Kubernetes refused a request about its addons: daemonsets "kube-proxy" is forbidden',
      ],
    },
  }));
