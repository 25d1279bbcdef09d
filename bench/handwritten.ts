import * as command from "@pulumi/command";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import { namedByPulumi } from "../components/kubernetes/pods";
import { testPriorityName } from "../components/kubernetes/smoke-test";
import * as read from "../components/machine/credentials";
import { credentials, nodeName, window } from "./cluster";
import { type Common, oneMachine, plan, run } from "./handwritten-machine";

const { kubernetes } = plan;
const machine = plan.machines[0]!;
const namespace = kubernetes.release.namespace;

/**
 * The program that a user would write for one cluster without this package: loops over the same SDK classes, with the same
 * parents, dependencies and invokes. It checks nothing and decides nothing, and is what the component is measured against.
 */
export function handwritten(name: string, count: number): Record<string, pulumi.Output<unknown>> {
  const parent = new pulumi.ComponentResource("talos-gpu:index:GpuCluster", name);
  const first = `${name}-${nodeName(0)}-schematic`;
  const schematic = new talos.imagefactory.Schematic(first, { schematic: machine.schematic }, { parent });
  const talosconfig = pulumi.secret(credentials.talosconfig);
  const kubeconfig = pulumi.secret(credentials.kubeconfig);
  const asked = asks(name, parent, schematic, { talosconfig, kubeconfig });
  const exposure = new command.local.Command(
    `${name}-exposure`,
    { triggers: [kubernetes.era, kubernetes.mode] },
    { parent, deleteBeforeReplace: true, dependsOn: asked },
  );
  const client = talosconfig.apply(read.talosClientOf);
  const machineSecrets = pulumi.secret(credentials.machineSecrets).apply(read.machineSecretsOf);
  const common: Common = { name, parent, schematicId: schematic.id, talosconfig, client, machineSecrets, kubeconfig };
  const nodes: k8s.core.v1.NodePatch[] = [];
  const upgrades: command.local.Command[] = [];
  for (let index = 0; index < count; index++) {
    const made = oneMachine(common, index, nodes[index - window] ?? exposure);
    nodes.push(made.node);
    upgrades.push(made.upgrade);
  }
  const tests = cluster(name, parent, nodes, exposure, count);
  const gate = passing(name, parent, tests, kubeconfig);
  return {
    machines: pulumi.all(upgrades.map((upgrade) => upgrade.stdout.apply((text) => JSON.parse(text) as unknown))),
    gpuReady: gate.stdout.apply(
      (text) => Object.keys((JSON.parse(text) as { untested: object }).untested).length === 0,
    ),
    runtimeClassName: gate.urn.apply(() => kubernetes.runtimeClass.name),
    gpuResourceName: gate.urn.apply(() => kubernetes.resourceName),
    endpoints: pulumi.output({}),
  };
}

/** Asks for what comes after the first reboot. */
function asks(
  name: string,
  parent: pulumi.Resource,
  schematic: talos.imagefactory.Schematic,
  { talosconfig, kubeconfig }: Record<"talosconfig" | "kubeconfig", pulumi.Output<string>>,
): command.local.Command {
  const text = run("preflight");
  const { chart, version, repository } = kubernetes.release;
  return new command.local.Command(
    `${name}-preflight`,
    {
      create: text,
      update: text,
      stdin: schematic.id.apply(() => JSON.stringify({ chart: { name: chart, version, repository } })),
      environment: { TALOS_GPU_TALOSCONFIG: talosconfig, TALOS_GPU_KUBECONFIG: kubeconfig },
      logging: command.local.Logging.Stderr,
    },
    { parent, customTimeouts: { create: "15m", update: "15m", delete: "15m" } },
  );
}

/** What the cluster has once, and a test for each machine. */
function cluster(
  name: string,
  parent: pulumi.Resource,
  nodes: pulumi.Resource[],
  exposure: pulumi.Resource,
  count: number,
): k8s.batch.v1.Job[] {
  const { release, namespaceLabels, markers } = kubernetes;
  const space = new k8s.core.v1.Namespace(
    `${name}-namespace`,
    { metadata: { name: namespace, labels: namespaceLabels! } },
    { parent, dependsOn: nodes },
  );
  const labels = { "app.kubernetes.io/name": "nvidia-validation-markers" };
  const content = new k8s.core.v1.ConfigMap(
    `${name}-markers-content`,
    {
      metadata: { name: "nvidia-validation-markers", namespace, labels },
      data: Object.fromEntries(markers.map((marker) => [marker.file, marker.content])),
    },
    { parent, dependsOn: space, replaceWith: [exposure] },
  );
  const keeper = new k8s.apps.v1.DaemonSet(
    `${name}-markers`,
    {
      metadata: { name: "nvidia-validation-markers", namespace, labels },
      spec: {
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [{ name: "markers", image: "busybox:1.37" }] } },
      },
    },
    { parent, dependsOn: [space, content], replaceWith: [exposure] },
  );
  const chart = new k8s.helm.v3.Release(
    `${name}-release`,
    {
      name: release.name,
      namespace,
      chart: release.chart,
      version: release.version,
      repositoryOpts: { repo: release.repository },
      values: release.values,
      timeout: 600,
      cleanupOnFail: true,
      atomic: false,
    },
    { parent, dependsOn: [space, content, keeper], replaceWith: [exposure] },
  );
  const priority = new k8s.scheduling.v1.PriorityClass(
    `${name}-smoke-test-priority`,
    {
      metadata: { name: testPriorityName(name) },
      value: 0,
      preemptionPolicy: "Never",
    },
    { parent, dependsOn: chart },
  );
  const { name: priorityClassName } = priority.metadata;
  return Array.from({ length: count }, (_, index) =>
    smokeTest(name, nodeName(index), parent, chart, priorityClassName),
  );
}

/** Waits for all tests. */
function passing(
  name: string,
  parent: pulumi.Resource,
  tests: k8s.batch.v1.Job[],
  kubeconfig: pulumi.Output<string>,
): command.local.Command {
  const made = tests.map(({ metadata }) => pulumi.output({ job: metadata.name, uid: metadata.uid }));
  const stdin = pulumi.all(made).apply((jobs) =>
    JSON.stringify({
      namespace,
      tests: jobs.map((job, index) => ({
        machine: nodeName(index),
        ...job,
        resource: kubernetes.resourceName,
        units: 1,
      })),
      limit: "600s",
      patience: "60s",
    }),
  );
  return new command.local.Command(
    `${name}-gate`,
    {
      create: run("gate"),
      update: run("gate"),
      stdin,
      environment: { TALOS_GPU_KUBECONFIG: kubeconfig },
      logging: "stderr",
    },
    { parent, dependsOn: tests, customTimeouts: { create: "660s", update: "660s", delete: "660s" } },
  );
}

function smokeTest(
  name: string,
  node: string,
  parent: pulumi.Resource,
  release: pulumi.Resource,
  priorityClassName: pulumi.Output<string>,
): k8s.batch.v1.Job {
  const labels = { "app.kubernetes.io/managed-by": "talos-gpu", "app.kubernetes.io/name": "gpu-smoke-test" };
  return new k8s.batch.v1.Job(
    namedByPulumi(name, "gpu-smoke-test", node),
    {
      metadata: {
        namespace,
        labels,
        annotations: {
          "pulumi.com/patchForce": "true",
          "pulumi.com/waitFor": "jsonpath={.metadata.uid}",
          "talos-gpu/talos": machine.talosVersion,
          "talos-gpu/driver": machine.driverVersion!,
          "talos-gpu/release": `${kubernetes.release.chart} ${kubernetes.release.version}`,
        },
      },
      spec: {
        backoffLimit: 3,
        activeDeadlineSeconds: 660,
        template: {
          metadata: { labels },
          spec: {
            restartPolicy: "Never",
            runtimeClassName: kubernetes.runtimeClass.name,
            priorityClassName,
            automountServiceAccountToken: false,
            nodeSelector: { "kubernetes.io/hostname": node },
            tolerations: [{ key: "nvidia.com/gpu", operator: "Exists", effect: "NoSchedule" }],
            containers: [
              {
                name: "smoke-test",
                image: kubernetes.smokeTestImage,
                terminationMessagePolicy: "FallbackToLogsOnError",
                resources: { limits: { [kubernetes.resourceName]: "1" } },
                securityContext: {
                  allowPrivilegeEscalation: false,
                  capabilities: { drop: ["ALL"] },
                  seccompProfile: { type: "RuntimeDefault" },
                },
              },
            ],
          },
        },
      },
    },
    { parent, dependsOn: release, customTimeouts: { create: "660s", update: "660s", delete: "660s" } },
  );
}
