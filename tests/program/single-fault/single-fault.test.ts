import { persistent } from "../../../components/clients/clock";
import { clusterObjectsOf } from "../../../components/kubernetes/guard/cluster-objects";
import { OWNER } from "../../../components/kubernetes/guard/live";
import { adopt, release } from "../../../components/program/adopt";
import { awaitTests } from "../../../components/program/gate/await-tests";
import { CORDONED_BY } from "../../../components/program/cluster/cordon-mark";
import { putBack } from "../../../components/program/cluster/put-back";
import { awaitFree } from "../../../components/program/cluster/runtime-class";
import { taint, untaint } from "../../../components/program/cluster/taint";
import { applyToOmni, releaseFromOmni } from "../../../components/program/omni/apply";
import { waitForOmni } from "../../../components/program/omni/wait";
import { FakeClock, FakeMachine, pod, schematics } from "../fakes";
import type { FakeOmni } from "../omni/fake-omni";
import { runPreflight, type PreflightSetup } from "../preflight/run-preflight";
import { ApiInMemory } from "./api-in-memory";
import { Calls, faultKinds } from "./faults";
import {
  configurationRun,
  resultOf,
  clusterRun,
  omniRun,
  omniTask,
  omniWait,
  type FaultyRun,
  ignoreLine,
  upgradeRun,
} from "./runs";

const adoptTask = {
  machine: "gpu-1",
  address: "10.0.0.1",
  patches: ["machine:\n  sysctls: {one: '1'}\n"],
};
const workerConfiguration = "version: v1alpha1\nmachine:\n  type: worker\n";
const additions = [
  { what: "container" as const, document: "config", path: ["machine", "sysctls"], value: {} },
  { what: "value" as const, document: "config", path: ["machine", "sysctls", "one"], value: "1" },
];
const previousAdoption = { hash: "h", added: { additions }, changed: true };

const GPU = "nvidia.com/gpu";
const metadata = (name: string, fields: object = {}) => ({
  name,
  namespace: "gpu",
  uid: name,
  resourceVersion: "1",
  ...fields,
});
const node = {
  metadata: { ...metadata("gpu-1") },
  spec: {},
  status: { allocatable: { [GPU]: "1" } },
};
const jobs = "/apis/batch/v1/namespaces/gpu/jobs";
const job = (fields: object = {}) => ({
  metadata: metadata("test-1"),
  spec: { template: { spec: {} } },
  ...fields,
});
const gateTask = {
  namespace: "gpu",
  tests: [{ machine: "gpu-1", job: "test-1", resource: GPU }],
  limit: "10m",
  patience: "1m",
  pollSeconds: 10,
};
const runningStatus = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
const busyPods = {
  "/api/v1/pods/train": {
    metadata: { ...metadata("train"), namespace: "default" },
    status: runningStatus,
    spec: { containers: [{ name: "main", resources: { limits: { [GPU]: "1" } } }] },
  },
  "/api/v1/pods/nvidia-device-plugin-x": {
    metadata: metadata("nvidia-device-plugin-x"),
    spec: { containers: [] },
    status: runningStatus,
  },
  "/api/v1/namespaces/gpu/pods/test-1-a": {
    metadata: metadata("test-1-a"),
    spec: { containers: [] },
    status: {
      phase: "Pending",
      conditions: [
        {
          type: "PodScheduled",
          status: "False",
          message: `0/1 nodes are available: 1 Insufficient ${GPU}.`,
        },
      ],
    },
  },
};
const stackTaint = { key: "gpu", value: "true", effect: "NoSchedule" };
const otherToolsTaint = {
  key: "maintenance",
  effect: "NoExecute",
  timeAdded: "2026-01-01T00:00:00Z",
};
const nodeWithTaints = (...taints: object[]) => ({
  "/api/v1/nodes/gpu-1": { ...node, spec: { taints } },
});
const configMap = (name: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "gpu" },
  data: { a: "1" },
});
const mark = { annotation: OWNER, valuePrefix: "shop/prod/" };
const freeTask = {
  runtimeClass: "nvidia",
  mark,
  limit: "5m",
  pollSeconds: 1,
  field: "gpuOperator",
};
const classPath = "/apis/node.k8s.io/v1/runtimeclasses/nvidia";

const machineInOtherCluster = {
  cluster: "home",
  machineSet: "home-workers",
  configError: "",
  configUpToDate: true,
  ready: true,
};

/**
 * The preflight of a machine, and of machines in Omni. `omniFields` are fields of Omni with which the preflight
 * reports a finding.
 */
function preflightRun(
  omni: (typeof omniTask)[],
  omniFields?: Partial<FakeOmni>,
  setup: Partial<PreflightSetup> = {},
): FaultyRun {
  return async (failing) => {
    const calls: Calls[] = [];
    const { outcome } = await runPreflight({
      ...setup,
      omni,
      wrapClient: (client, kind, clock) => {
        calls[0] ??= new Calls(clock, failing);
        if (kind === "omni") Object.assign(client, omniFields);
        return persistent(
          clock,
          kind === "cluster" ? calls[0].ofKubernetes(client) : calls[0].ofTalos(client),
        );
      },
    });
    // An array contains findings.
    if (failing === undefined)
      expect(Array.isArray(outcome)).toBe(
        omniFields !== undefined || setup.objectsByPath !== undefined,
      );
    return { calls: calls[0]!.callNames, state: outcome };
  };
}

const runs: Record<string, FaultyRun> = {
  upgrade: upgradeRun(({ cluster }) => void (cluster.podList = [pod("app")])),
  "upgrade with nothing to do": upgradeRun(({ machine }) => {
    Object.assign(machine, {
      schematicId: schematics.gpu,
      talosVersion: "v1.12.6",
      active: machine.persistent,
    });
  }),
  "upgrade of a control plane": upgradeRun(({ machine }) => void (machine.etcdState = "Running"), {
    role: "controlplane",
  }),
  "upgrade of a control plane among three": upgradeRun(
    ({ machine, context, clock }) => {
      machine.etcdState = "Running";
      const member = (id: string, address: string) => ({
        id,
        hostname: `cp-${id}`,
        learner: false,
        urls: [`https://${address}:2380`],
      });
      // The third machine is known only as a member of etcd, and the fourth is not in the stack.
      machine.members = [
        member("1", "10.0.0.1"),
        member("2", "10.0.0.2"),
        member("3", "192.0.2.3"),
        member("4", "10.0.0.4"),
        member("5", "10.0.0.1"),
      ];
      const secondMachine = new FakeMachine(clock);
      const thirdMachine = new FakeMachine(clock);
      thirdMachine.memberId = "3";
      machine.network["10.0.0.4"] = new FakeMachine(clock);
      context.others = new Map([
        ["10.0.0.2", secondMachine],
        ["10.0.0.3", thirdMachine],
      ]);
    },
    { role: "controlplane" },
  ),
  "upgrade of a control plane over two minors": upgradeRun(
    ({ machine, cluster }) => {
      cluster.podList = [pod("app")];
      Object.assign(machine, {
        etcdState: "Running",
        talosVersion: "v1.11.5",
        schematicId: schematics.gpu,
        active: machine.persistent,
        driverVersions: { "v1.11.5": "570.172.08", "v1.13.9": "595.91.07" },
      });
    },
    { role: "controlplane", talosVersion: "v1.13.9", driverVersion: "595.91.07" },
  ),
  "upgrade of a worker that an earlier run is rebooting": upgradeRun(
    ({ machine, cluster, clock }) => {
      machine.install(`factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6`);
      machine.isDown = true;
      clock.after(400, () => machine.boot());
      clock.after(420, () => void (machine.stageName = "running"));
      const annotations = { [CORDONED_BY]: schematics.gpu };
      cluster.state = { ...cluster.state!, unschedulable: true, annotations };
    },
  ),
  "upgrade of a machine whose boot is paused": upgradeRun(({ machine, cluster }) => {
    const bootProblems = ["writeUserFiles failed, rebooting in 35 minutes: already exists"];
    const pausedMachine = {
      active: "broken",
      stageName: "booting",
      unmetConditions: ["services"],
      bootProblems,
    };
    Object.assign(machine, {
      ...pausedMachine,
      talosVersion: "v1.12.6",
      schematicId: schematics.gpu,
    });
    cluster.podList = [pod("app")];
    machine.afterCall = (call) => {
      if (call === "reboot") Object.assign(machine, { bootProblems: [], unmetConditions: [] });
    };
  }),
  "requested reboot": upgradeRun(
    ({ machine }) => {
      Object.assign(machine, {
        schematicId: schematics.gpu,
        talosVersion: "v1.12.6",
        active: machine.persistent,
      });
    },
    { reboots: true },
  ),
  "upgrade that needs no reboot": upgradeRun(
    ({ machine }) => {
      machine.active = machine.persistent = "machine: {type: worker}\n";
      machine.persistent = "machine: {type: worker, sysctls: {a: b}}\n";
      Object.assign(machine, { talosVersion: "v1.12.6", schematicId: schematics.plain });
    },
    { schematicId: schematics.plain, modules: [], driverVersion: undefined, extensionServices: [] },
  ),
  "upgrade to a new Kubernetes release": upgradeRun(
    ({ machine }) => {
      const configurationOfControlPlane = (release: string): string =>
        `machine: {kubelet: {image: "kubelet:${release}"}}\ncluster: {apiServer: {image: "kube-apiserver:${release}"}}\n`;
      Object.assign(machine, {
        talosVersion: "v1.12.6",
        schematicId: schematics.plain,
        active: configurationOfControlPlane("v1.35.2"),
        persistent: configurationOfControlPlane("v1.36.0"),
      });
    },
    {
      configuration: "owned",
      role: "controlplane",
      schematicId: schematics.plain,
      modules: [],
      driverVersion: undefined,
      extensionServices: [],
    },
  ),
  adopt: configurationRun((context) => adopt(adoptTask, undefined, context), workerConfiguration),
  "adopt with nothing to do": configurationRun(
    (context) => adopt(adoptTask, previousAdoption, context),
    `${workerConfiguration}  sysctls: {one: '1'}\n`,
  ),
  release: configurationRun(
    (context) => release(adoptTask, previousAdoption, context),
    `${workerConfiguration}  sysctls: {one: '1'}\n`,
  ),
  "omni-apply": omniRun((omni) => applyToOmni(omniTask, omni, ignoreLine)),
  "omni-release": omniRun(
    (omni, _, clock) => releaseFromOmni(omniTask, omni, ignoreLine, clock),
    true,
  ),
  "omni-wait": omniRun((omni, machine, clock) =>
    waitForOmni(omniWait, { omni, machine, clock, report: ignoreLine }),
  ),
  preflight: preflightRun([]),
  "preflight with a machine in Omni": preflightRun([omniTask]),
  "preflight with a new Kubernetes release": preflightRun([], undefined, {
    kubernetesRelease: { version: "v1.32.1", ofControlPlanes: true, settingsHash: "a" },
    apiServers: ["v1.31.4"],
    objectsByPath: { "/apis/resource.k8s.io/v1alpha3/podschedulingcontexts": ["shop/a"] },
  }),
  // The finding shows that each request was answered in the end: a lost answer would give no finding.
  "preflight with a machine that Omni keeps as a template": preflightRun([omniTask], {
    templated: true,
  }),
  "preflight with a machine in another cluster of Omni": preflightRun([omniTask], {
    state: machineInOtherCluster,
  }),
  gate: clusterRun(
    () => ({
      "/api/v1/nodes/gpu-1": node,
      [`${jobs}/test-1`]: job({ status: { conditions: [{ type: "Complete", status: "True" }] } }),
    }),
    (cluster, clock) => awaitTests(gateTask, cluster, clock, ignoreLine),
  ),
  "gate of a test that an earlier run gave up": clusterRun(
    () => ({
      "/api/v1/nodes/gpu-1": node,
      [`${jobs}/test-1`]: job({ spec: { suspend: true, template: { spec: {} } } }),
    }),
    (cluster, clock, api) => {
      api.afterWrite = (write) => {
        if (write.startsWith("POST"))
          api.objects[`${jobs}/test-1`]!["status"] = {
            conditions: [{ type: "Complete", status: "True" }],
          };
      };
      return awaitTests(gateTask, cluster, clock, ignoreLine);
    },
  ),
  "gate of a machine in use": clusterRun(
    () => ({ "/api/v1/nodes/gpu-1": node, [`${jobs}/test-1`]: job(), ...busyPods }),
    (cluster, clock, api) => {
      api.afterWrite = () => delete api.objects["/api/v1/namespaces/gpu/pods/test-1-a"]; // a suspended Job loses its pods in the same way
      return awaitTests(gateTask, cluster, clock, ignoreLine);
    },
  ),
  "put-back": clusterRun(
    () => ({
      "/api/v1/namespaces/gpu/configmaps/right": {
        ...configMap("right"),
        metadata: metadata("right"),
      },
      "/api/v1/namespaces/gpu/configmaps/wrong": {
        ...configMap("wrong"),
        metadata: metadata("wrong"),
        data: { a: "2" },
      },
    }),
    (cluster) =>
      putBack(
        { manager: "talos-gpu", objects: ["gone", "right", "wrong"].map(configMap) },
        cluster,
        ignoreLine,
      ),
  ),
  taint: clusterRun(
    () => nodeWithTaints(otherToolsTaint),
    async (cluster, clock) => ({
      taints: await taint(
        { machine: "gpu-1", taints: [stackTaint] },
        [],
        cluster,
        clock,
        ignoreLine,
      ),
    }),
  ),
  untaint: clusterRun(
    () => nodeWithTaints(otherToolsTaint, stackTaint),
    async (cluster, clock) => ({
      done: await untaint("gpu-1", [stackTaint], cluster, clock, ignoreLine),
    }),
  ),
  "untaint of a stack without taints": clusterRun(
    () => ({ "/api/v1/nodes/gpu-1": node }),
    async (cluster, clock) => ({ done: await untaint("gpu-1", [], cluster, clock, ignoreLine) }),
  ),
  "await-free": clusterRun(
    () => ({}),
    (cluster, clock) => awaitFree(freeTask, cluster, clock, ignoreLine),
  ),
  "await-free of another tool's class": clusterRun(
    () => ({ [classPath]: { metadata: metadata("nvidia"), handler: "nvidia" } }),
    (cluster, clock) => awaitFree({ ...freeTask, isExternal: true }, cluster, clock, ignoreLine),
  ),
  "the guard": async (failing) => {
    const clock = new FakeClock();
    const calls = new Calls(clock, failing);
    const owner = { annotations: { [OWNER]: "shop/prod/ns 1" } };
    const api = new ApiInMemory({
      "/api/v1/namespaces/gpu": { metadata: { name: "gpu", uid: "1", ...owner } },
      [`${jobs}/lost`]: { metadata: metadata("lost", owner) },
    });
    const client = api.client();
    calls.ofApi(client);
    const objects = clusterObjectsOf(persistent(clock, client), clock);
    const answer = await resultOf(
      (async () => {
        const namespace = await objects.read({ apiVersion: "v1", kind: "Namespace", name: "gpu" });
        const ownedJobs = await objects.ownedBy(
          "shop/prod/ns 1",
          { apiVersion: "batch/v1", kind: "Job" },
          "gpu",
        );
        for (const ownedJob of ownedJobs) await objects.remove(ownedJob);
        return { holds: namespace?.holds, lost: ownedJobs };
      })(),
      failing,
    );
    return { calls: calls.callNames, state: { answer, objects: api.objects, writes: api.writes } };
  },
};

const cases = Object.entries(runs).flatMap(([name, run]) =>
  faultKinds.map((fault) => ({ name, fault, run })),
);

test.each(cases)(
  "$name has the same result if any one of its calls fails once: $fault.name",
  async ({ run, fault }) => {
    const outcomeWithoutFault = await run(undefined);
    expect(outcomeWithoutFault.calls.length).toBeGreaterThan(0);
    const differences: unknown[] = [];
    for (const [callIndex, call] of outcomeWithoutFault.calls.entries()) {
      const { state } = await run({ index: callIndex, fault });
      if (JSON.stringify(state) !== JSON.stringify(outcomeWithoutFault.state))
        differences.push({ call: `${callIndex} ${call}`, state });
    }
    // A failure then also shows the state without a fault.
    expect({ state: outcomeWithoutFault.state, differences }).toEqual({
      state: outcomeWithoutFault.state,
      differences: [],
    });
  },
);
