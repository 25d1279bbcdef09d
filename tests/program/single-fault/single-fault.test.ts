import { persistent } from "../../../components/clients/clock";
import { objectsBy } from "../../../components/kubernetes/guard/cluster-objects";
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
import { ask, type Stand } from "../preflight/stand";
import { ApiInMemory } from "./api-in-memory";
import { Calls, faultKinds } from "./faults";
import {
  configuring,
  ended,
  inCluster,
  inOmni,
  omniTask,
  omniWait,
  type Play,
  quiet,
  upgrading,
} from "./plays";

const adoption = {
  machine: "gpu-1",
  address: "10.0.0.1",
  patches: ["machine:\n  sysctls: {one: '1'}\n"],
};
const plain = "version: v1alpha1\nmachine:\n  type: worker\n";
const additions = [
  { what: "container" as const, document: "config", path: ["machine", "sysctls"], value: {} },
  { what: "value" as const, document: "config", path: ["machine", "sysctls", "one"], value: "1" },
];
const adopted = { hash: "h", added: { additions }, changed: true };

const GPU = "nvidia.com/gpu";
const meta = (name: string, more: object = {}) => ({
  name,
  namespace: "gpu",
  uid: name,
  resourceVersion: "1",
  ...more,
});
const node = { metadata: { ...meta("gpu-1") }, spec: {}, status: { allocatable: { [GPU]: "1" } } };
const jobs = "/apis/batch/v1/namespaces/gpu/jobs";
const job = (more: object = {}) => ({
  metadata: meta("test-1"),
  spec: { template: { spec: {} } },
  ...more,
});
const gate = {
  namespace: "gpu",
  tests: [{ machine: "gpu-1", job: "test-1", resource: GPU }],
  limit: "10m",
  patience: "1m",
  pollSeconds: 10,
};
const running = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
const busyPods = {
  "/api/v1/pods/train": {
    metadata: { ...meta("train"), namespace: "default" },
    status: running,
    spec: { containers: [{ name: "main", resources: { limits: { [GPU]: "1" } } }] },
  },
  "/api/v1/pods/nvidia-device-plugin-x": {
    metadata: meta("nvidia-device-plugin-x"),
    spec: { containers: [] },
    status: running,
  },
  "/api/v1/namespaces/gpu/pods/test-1-a": {
    metadata: meta("test-1-a"),
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
const ours = { key: "gpu", value: "true", effect: "NoSchedule" };
const theirs = { key: "maintenance", effect: "NoExecute", timeAdded: "2026-01-01T00:00:00Z" };
const tainted = (...taints: object[]) => ({ "/api/v1/nodes/gpu-1": { ...node, spec: { taints } } });
const map = (name: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "gpu" },
  data: { a: "1" },
});
const mark = { annotation: OWNER, ours: "shop/prod/" };
const free = { runtimeClass: "nvidia", mark, limit: "5m", pollSeconds: 1, field: "gpuOperator" };
const classPath = "/apis/node.k8s.io/v1/runtimeclasses/nvidia";

const elsewhere = {
  cluster: "home",
  machineSet: "home-workers",
  configError: "",
  configUpToDate: true,
  ready: true,
};

/**
 * The preflight of a machine, and of machines in Omni. `differs` are fields of Omni with which the preflight
 * reports a finding.
 */
function preflighting(
  omni: (typeof omniTask)[],
  differs?: Partial<FakeOmni>,
  more: Partial<Stand> = {},
): Play {
  return async (failing) => {
    const calls: Calls[] = [];
    const { outcome } = await ask({
      ...more,
      omni,
      through: (client, kind, clock) => {
        calls[0] ??= new Calls(clock, failing);
        if (kind === "omni") Object.assign(client, differs);
        return persistent(
          clock,
          kind === "cluster" ? calls[0].ofKubernetes(client) : calls[0].ofTalos(client),
        );
      },
    });
    // An array contains findings.
    if (failing === undefined)
      expect(Array.isArray(outcome)).toBe(differs !== undefined || more.objects !== undefined);
    return { calls: calls[0]!.made, is: outcome };
  };
}

const runs: Record<string, Play> = {
  upgrade: upgrading(({ cluster }) => void (cluster.podList = [pod("app")])),
  "upgrade with nothing to do": upgrading(({ machine }) => {
    Object.assign(machine, {
      schematicId: schematics.gpu,
      talosVersion: "v1.12.6",
      active: machine.persistent,
    });
  }),
  "upgrade of a control plane": upgrading(({ machine }) => void (machine.etcdState = "Running"), {
    role: "controlplane",
  }),
  "upgrade of a control plane among three": upgrading(
    ({ machine, workbench, clock }) => {
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
      const [two, three] = [new FakeMachine(clock), new FakeMachine(clock)];
      three.memberId = "3";
      machine.network["10.0.0.4"] = new FakeMachine(clock);
      workbench.others = new Map([
        ["10.0.0.2", two],
        ["10.0.0.3", three],
      ]);
    },
    { role: "controlplane" },
  ),
  "upgrade of a control plane over two minors": upgrading(
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
  "upgrade of a worker that an earlier run is rebooting": upgrading(
    ({ machine, cluster, clock }) => {
      machine.install(`factory.talos.dev/metal-installer/${schematics.gpu}:v1.12.6`);
      machine.down = true;
      clock.after(400, () => machine.boot());
      clock.after(420, () => void (machine.stageName = "running"));
      const annotations = { [CORDONED_BY]: schematics.gpu };
      cluster.state = { ...cluster.state!, unschedulable: true, annotations };
    },
  ),
  "upgrade of a machine whose boot is paused": upgrading(({ machine, cluster }) => {
    const bootProblems = ["writeUserFiles failed, rebooting in 35 minutes: already exists"];
    const broken = {
      active: "broken",
      stageName: "booting",
      unmetConditions: ["services"],
      bootProblems,
    };
    Object.assign(machine, { ...broken, talosVersion: "v1.12.6", schematicId: schematics.gpu });
    cluster.podList = [pod("app")];
    machine.afterCall = (call) => {
      if (call === "reboot") Object.assign(machine, { bootProblems: [], unmetConditions: [] });
    };
  }),
  "requested reboot": upgrading(
    ({ machine }) => {
      Object.assign(machine, {
        schematicId: schematics.gpu,
        talosVersion: "v1.12.6",
        active: machine.persistent,
      });
    },
    { reboots: true },
  ),
  "upgrade that needs no reboot": upgrading(
    ({ machine }) => {
      machine.active = machine.persistent = "machine: {type: worker}\n";
      machine.persistent = "machine: {type: worker, sysctls: {a: b}}\n";
      Object.assign(machine, { talosVersion: "v1.12.6", schematicId: schematics.plain });
    },
    { schematicId: schematics.plain, modules: [], driverVersion: undefined, extensionServices: [] },
  ),
  "upgrade to a new Kubernetes release": upgrading(
    ({ machine }) => {
      const parts = (release: string): string =>
        `machine: {kubelet: {image: "kubelet:${release}"}}\ncluster: {apiServer: {image: "kube-apiserver:${release}"}}\n`;
      Object.assign(machine, {
        talosVersion: "v1.12.6",
        schematicId: schematics.plain,
        active: parts("v1.35.2"),
        persistent: parts("v1.36.0"),
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
  adopt: configuring((bench) => adopt(adoption, undefined, bench), plain),
  "adopt with nothing to do": configuring(
    (bench) => adopt(adoption, adopted, bench),
    `${plain}  sysctls: {one: '1'}\n`,
  ),
  release: configuring(
    (bench) => release(adoption, adopted, bench),
    `${plain}  sysctls: {one: '1'}\n`,
  ),
  "omni-apply": inOmni((omni) => applyToOmni(omniTask, omni, quiet)),
  "omni-release": inOmni((omni, _, clock) => releaseFromOmni(omniTask, omni, quiet, clock), true),
  "omni-wait": inOmni((omni, machine, clock) =>
    waitForOmni(omniWait, { omni, machine, clock, report: quiet }),
  ),
  preflight: preflighting([]),
  "preflight with a machine in Omni": preflighting([omniTask]),
  "preflight with a new Kubernetes release": preflighting([], undefined, {
    release: { version: "v1.32.1", ofControlPlanes: true, wanted: "a" },
    apiServers: ["v1.31.4"],
    objects: { "/apis/resource.k8s.io/v1alpha3/podschedulingcontexts": ["shop/a"] },
  }),
  // The finding shows that each request was answered in the end: a lost answer would give no finding.
  "preflight with a machine that Omni keeps as a template": preflighting([omniTask], {
    templated: true,
  }),
  "preflight with a machine in another cluster of Omni": preflighting([omniTask], {
    state: elsewhere,
  }),
  gate: inCluster(
    () => ({
      "/api/v1/nodes/gpu-1": node,
      [`${jobs}/test-1`]: job({ status: { conditions: [{ type: "Complete", status: "True" }] } }),
    }),
    (cluster, clock) => awaitTests(gate, cluster, clock, quiet),
  ),
  "gate of a test that an earlier run gave up": inCluster(
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
      return awaitTests(gate, cluster, clock, quiet);
    },
  ),
  "gate of a machine in use": inCluster(
    () => ({ "/api/v1/nodes/gpu-1": node, [`${jobs}/test-1`]: job(), ...busyPods }),
    (cluster, clock, api) => {
      api.afterWrite = () => delete api.objects["/api/v1/namespaces/gpu/pods/test-1-a"]; // a suspended Job loses its pods in the same way
      return awaitTests(gate, cluster, clock, quiet);
    },
  ),
  "put-back": inCluster(
    () => ({
      "/api/v1/namespaces/gpu/configmaps/right": { ...map("right"), metadata: meta("right") },
      "/api/v1/namespaces/gpu/configmaps/wrong": {
        ...map("wrong"),
        metadata: meta("wrong"),
        data: { a: "2" },
      },
    }),
    (cluster) =>
      putBack(
        { manager: "talos-gpu", objects: ["gone", "right", "wrong"].map(map) },
        cluster,
        quiet,
      ),
  ),
  taint: inCluster(
    () => tainted(theirs),
    async (cluster, clock) => ({
      taints: await taint({ machine: "gpu-1", taints: [ours] }, [], cluster, clock, quiet),
    }),
  ),
  untaint: inCluster(
    () => tainted(theirs, ours),
    async (cluster, clock) => ({ done: await untaint("gpu-1", [ours], cluster, clock, quiet) }),
  ),
  "untaint of a stack without taints": inCluster(
    () => ({ "/api/v1/nodes/gpu-1": node }),
    async (cluster, clock) => ({ done: await untaint("gpu-1", [], cluster, clock, quiet) }),
  ),
  "await-free": inCluster(
    () => ({}),
    (cluster, clock) => awaitFree(free, cluster, clock, quiet),
  ),
  "await-free of another tool's class": inCluster(
    () => ({ [classPath]: { metadata: meta("nvidia"), handler: "nvidia" } }),
    (cluster, clock) => awaitFree({ ...free, theirs: true }, cluster, clock, quiet),
  ),
  "the guard": async (failing) => {
    const clock = new FakeClock();
    const calls = new Calls(clock, failing);
    const owner = { annotations: { [OWNER]: "shop/prod/ns 1" } };
    const api = new ApiInMemory({
      "/api/v1/namespaces/gpu": { metadata: { name: "gpu", uid: "1", ...owner } },
      [`${jobs}/lost`]: { metadata: meta("lost", owner) },
    });
    const client = api.client();
    calls.ofApi(client);
    const objects = objectsBy(persistent(clock, client), clock);
    const answer = await ended(
      (async () => {
        const place = await objects.read({ apiVersion: "v1", kind: "Namespace", name: "gpu" });
        const lost = await objects.ownedBy(
          "shop/prod/ns 1",
          { apiVersion: "batch/v1", kind: "Job" },
          "gpu",
        );
        for (const one of lost) await objects.remove(one);
        return { holds: place?.holds, lost };
      })(),
      failing,
    );
    return { calls: calls.made, is: { answer, objects: api.objects, writes: api.writes } };
  },
};

const cases = Object.entries(runs).flatMap(([name, play]) =>
  faultKinds.map((fault) => ({ name, fault, play })),
);

test.each(cases)(
  "$name has the same result if any one of its calls fails once: $fault.name",
  async ({ play, fault }) => {
    const without = await play(undefined);
    expect(without.calls.length).toBeGreaterThan(0);
    const differ: unknown[] = [];
    for (const [at, call] of without.calls.entries()) {
      const { is } = await play({ at, fault });
      const [wanted, seen] = [JSON.stringify(without.is), JSON.stringify(is)];
      if (wanted !== seen) differ.push({ call: `${at} ${call}`, is });
    }
    expect({ is: without.is, differ }).toEqual({ is: without.is, differ: [] });
  },
);
