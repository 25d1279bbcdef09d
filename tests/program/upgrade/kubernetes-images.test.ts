import { CallError, Failure, type FieldFinding } from "../../../components/clients/failure";
import type { PulledImages, PullImagesTask } from "../../../components/program/task";
import { pullImages } from "../../../components/program/upgrade/kubernetes-images";
import { FakeClock, FakeMachine } from "../fakes";

// The images of a new Kubernetes release, for a cluster that the stack bootstrapped.

const configurationOf = (release: string, kubelet = `ghcr.io/siderolabs/kubelet:${release}`) =>
  `machine:
  kubelet: {image: "${kubelet}"}
cluster:
  apiServer: {image: "registry.k8s.io/kube-apiserver:${release}"}
  scheduler: {image: "mirror.example.com:5000/k8s/kube-scheduler:${release}"}
`;

const machinesOfStack: PullImagesTask["machines"] = [
  { machine: "cp-1", address: "10.0.0.1", role: "controlplane", limit: "10m" },
  { machine: "gpu-1", address: "10.0.0.2", role: "worker", limit: "10m" },
];

/** Runs the verb on two machines that run v1.35.2. */
async function pullFor(
  version: string,
  previous: PulledImages | undefined,
  prepare: (machines: Record<string, FakeMachine>) => void = () => {},
  tasks = machinesOfStack,
  askKubernetes: (...call: [string, string, readonly string[]]) => Promise<FieldFinding[]> = () =>
    Promise.resolve([]),
) {
  const clock = new FakeClock();
  const machines: Record<string, FakeMachine> = {
    "10.0.0.1": new FakeMachine(clock),
    "10.0.0.2": new FakeMachine(clock),
  };
  for (const machine of Object.values(machines)) machine.active = configurationOf("v1.35.2");
  prepare(machines);
  const lines: string[] = [];
  const answer = await pullImages({ version, machines: tasks, pollSeconds: 1 }, previous, {
    machine: (address) => machines[address]!,
    reportOf: (machine) => (line) => lines.push(`${machine}: ${line}`),
    askKubernetes,
    clock,
  }).catch((error: unknown) => error);
  return { answer, lines, calls: Object.values(machines).map(({ calls }) => calls) };
}

const both = { version: "v1.35.2", machines: ["cp-1", "gpu-1"] };

test("each machine pulls the images of its components, from the registries of its configuration", async () => {
  const { answer, calls } = await pullFor("1.36.0", both);
  expect(calls).toEqual([
    [
      "pull registry.k8s.io/kube-apiserver:v1.36.0 for pods",
      "pull mirror.example.com:5000/k8s/kube-scheduler:v1.36.0 for pods",
      "pull ghcr.io/siderolabs/kubelet:v1.36.0",
    ],
    ["pull ghcr.io/siderolabs/kubelet:v1.36.0"],
  ]);
  expect(answer).toEqual({ ...both, version: "1.36.0" });
});

test("the first update asks no machine, and a later one skips machines that are new", async () => {
  const first = await pullFor("v1.36.0", undefined);
  expect(first).toMatchObject({
    answer: { ...both, version: "v1.36.0" },
    calls: [[], []],
    lines: [],
  });
  const { calls } = await pullFor("v1.36.0", { ...both, machines: ["gpu-1"] });
  expect(calls.map(({ length }) => length)).toEqual([0, 1]);
});

test("images that stay are not pulled: the same release, a digest, an image that a patch pins", async () => {
  expect(await pullFor("v1.35.2", both)).toMatchObject({ calls: [[], []] });
  const { calls } = await pullFor("v1.36.0", both, (machines) => {
    const pinned = `ghcr.io/siderolabs/kubelet:v1.35.2@sha256:${"0".repeat(64)}`;
    machines["10.0.0.1"]!.active = configurationOf("v1.35.2-acme1");
    machines["10.0.0.2"]!.active = configurationOf("v1.35.2", pinned);
  });
  expect(calls).toEqual([[], []]);
});

test.each([
  ["v1.37.0", /^v1\.35\.2 → v1\.37\.0 crosses 2 minor releases/, "go to v1.36 first"],
  ["v1.34.9", /^v1\.35\.2 → v1\.34\.9 goes back/, "set it to v1.35.2 or newer"],
])("the update refuses %s before it pulls anything", async (version, problem, remedy) => {
  const { answer, calls } = await pullFor(version, both);
  expect((answer as Failure).findings).toEqual([
    {
      field: "kubernetesVersion",
      problem: expect.stringMatching(problem) as string,
      why: expect.any(String) as string,
      remedy,
    },
  ]);
  expect(calls).toEqual([[], []]);
});

test("a control plane that an interrupted update left behind decides, not the release of that update", async () => {
  const { answer } = await pullFor("v1.37.0", { ...both, version: "v1.36.0" });
  expect((answer as Failure).findings.map(({ field }) => field)).toEqual(["kubernetesVersion"]);
});

test("a machine that does not answer stops no other machine", async () => {
  const { answer, lines, calls } = await pullFor("v1.36.0", both, (machines) =>
    machines["10.0.0.1"]!.failCalls("configurations", "unreachable", 100),
  );
  expect(answer).toEqual({ ...both, version: "v1.36.0" });
  expect(lines).toContainEqual(expect.stringContaining("cp-1: images: not pulled"));
  expect(calls.map(({ length }) => length)).toEqual([0, 1]);
});

test("an image that a registry lacks stops the update, with a finding for each machine", async () => {
  const { answer } = await pullFor("v1.36.9", both, (machines) => {
    for (const machine of Object.values(machines)) machine.failCalls("pull", "refused", 100);
  });
  expect(answer).toBeInstanceOf(Failure);
  expect((answer as Failure).findings.map(({ field }) => field)).toEqual([
    "machines.cp-1",
    "machines.gpu-1",
  ]);
});

test("names that are too long for the next update's environment are left out, also by the first update", async () => {
  const tasks = Array.from({ length: 2_000 }, (_, index) => ({
    ...machinesOfStack[0]!,
    machine: `${"m".repeat(59)}${index}`,
  }));
  const { answer } = await pullFor("v1.36.0", undefined, undefined, tasks);
  expect(answer).toEqual({ version: "v1.36.0", machines: [] });
});

describe("Kubernetes is asked about the new release before an image is pulled", () => {
  const finding = {
    field: "kubernetesVersion",
    problem: "the cluster has objects of an API that v1.36.0 removes",
    why: "they would stay in etcd",
    remedy: "move them",
  };

  test("with the kubeconfig that a control plane gives, and a finding stops the update", async () => {
    const asked: unknown[] = [];
    const { answer, calls } = await pullFor("v1.36.0", both, undefined, undefined, (...call) => {
      asked.push(call);
      return Promise.resolve([finding]);
    });
    expect(asked).toEqual([["kubeconfig of an administrator", "v1.36.0", ["v1.35.2"]]]);
    expect(answer).toEqual(new Failure(finding));
    expect(calls).toEqual([[], []]);
  });

  test("and if it does not answer, the update says so and goes on", async () => {
    const { answer, lines } = await pullFor("v1.36.0", both, undefined, undefined, () =>
      Promise.reject(new CallError("unreachable", "Kubernetes: no answer")),
    );
    expect(answer).toEqual({ ...both, version: "v1.36.0" });
    expect(lines).toContain(
      "cp-1: images: not known what Kubernetes v1.36.0 changes in the cluster (Kubernetes: no answer)",
    );
  });
});
