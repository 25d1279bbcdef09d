import { CallError } from "../../../../components/clients/failure";
import { type FakeMachine, schematics } from "../fakes";
import { archive, ask, brought, certificate, index, node, repository, type Stand, strange, there } from "./stand";

const running = (extensions: Record<string, string>) => (machine: FakeMachine) =>
  void (machine.running = { ...machine.running, extensions });

/** The credentials were seen to be of one cluster. */
const together = expect.stringMatching(/^[0-9a-f]{16}$/) as string;

test("credentials that were seen to be of one cluster need no machine's word again, until one of them is another", async () => {
  const { outcome } = await ask();
  const machine = (fake: FakeMachine) => void (fake.bootId = () => Promise.reject(new Error("asked again")));
  expect((await ask({ machine }, outcome)).outcome).toEqual(outcome);
  await expect(ask({ machine, authority: "another" }, outcome)).rejects.toThrow("asked again");
});

test("where all is there it changes nothing, and remembers what was asked about", async () => {
  const { outcome, machine } = await ask();
  expect(outcome).toEqual({ ...brought([schematics.gpu]), together });
  expect(machine.calls).toEqual([]);
});

describe("what is known to be missing ends it", () => {
  const silent = { silent: "ECONNREFUSED" };
  test.each<[string, Partial<Stand>, RegExp]>([
    [
      "a repository that is down",
      { web: { [`${repository}/index.yaml`]: silent } },
      /^gpuOperator: the chart repository .* cannot be reached: ECONNREFUSED/,
    ],
    [
      "a repository that is gone",
      { web: { [`${repository}/index.yaml`]: { status: 404, body: "" } } },
      /cannot be reached: it answers 404/,
    ],
    [
      "a release that is not there",
      { version: "v99.0.0" },
      /has no chart gpu-operator v99\.0\.0; it has v25\.10\.1, v25\.3\.4/,
    ],
    [
      "an archive that is gone",
      { web: { [`${repository}/${archive}`]: { status: 404, body: "" } } },
      /does not have its archive/,
    ],
    [
      "an image that the Factory cannot make",
      { web: { [Object.keys(there)[2]!]: { status: 400, body: 'official extension "x" is not available\n' } } },
      /^talosVersion: the Image Factory does not have .*: official extension "x" is not available \(400\)/,
    ],
    [
      "Kubernetes that does not answer",
      { nodes: new CallError("unreachable", "Kubernetes: nodes: ECONNREFUSED") },
      /^kubeconfig: the Kubernetes API at https:\/\/10\.0\.0\.9:6443 did not answer within 3m \(last: Kubernetes: nodes: ECONNREFUSED\)/,
    ],
    [
      "a user that Kubernetes does not know",
      { nodes: new CallError("refused", "Kubernetes: nodes: Unauthorized") },
      /^kubeconfig: the Kubernetes API does not know its user/,
    ],
    [
      "another API server",
      { nodes: new CallError("refused", "Kubernetes: nodes: self-signed certificate") },
      /^kubeconfig: it is of another cluster: the API server shows/,
    ],
    [
      "a configuration that the running release cannot read",
      {
        machines: [{ configuration: "owned", contract: "v1.12.6" }],
        machine: (machine) => void (machine.talosVersion = "v1.11.6"),
      },
      /^machines\.gpu-1\.runningVersion: the machine runs v1\.11\.6, and its configuration is generated for v1\.12\.6/,
    ],
    [
      "another stack's namespace",
      { owners: { "gpu-operator": "shop/test/ns 77" } },
      /^kubeconfig: Namespace gpu-operator was made by shop\/test\/ns/,
    ],
    [
      "a kubeconfig of another cluster",
      {
        nodes: [strange],
        authority: certificate("b3RoZXI="),
        machine: (machine) =>
          void (machine.active = `cluster: {ca: {crt: ${Buffer.from(certificate("b3Vycw==")).toString("base64")}}}\n`),
      },
      /^kubeconfig: it is of another cluster than the talosconfig: .* has the nodes other, none of which is gpu-1 \(10\.0\.0\.1\)/,
    ],
    [
      "a machine that is a node of another name",
      { nodes: [node({ name: "gpu-1.home.example" })] },
      /^machines\.gpu-1\.address: the machine at 10\.0\.0\.1 is node gpu-1\.home\.example/,
    ],
    [
      "a machine behind another one's address",
      { nodes: [node({ bootId: "boot-7", addresses: ["10.0.0.2"] }), node({ name: "gpu-2" })] },
      /^machines\.gpu-1\.address: the machine at 10\.0\.0\.1 is node gpu-2/,
    ],
    [
      "what the machine would lose",
      { machine: running({ "iscsi-tools": "v0.2.0" }) },
      /^machines\.gpu-1\.extensions: the machine runs siderolabs\/iscsi-tools v0\.2\.0/,
    ],
  ])("%s", async (_, changes, said) => {
    const { outcome } = await ask(changes);
    expect(outcome).toEqual([expect.stringMatching(said)]);
  });

  test("a machine that its talosconfig does not fit", async () => {
    const refused = new CallError(
      "refused",
      "talosctl get failed (exit 1): x509: certificate signed by unknown authority",
    );
    const { outcome } = await ask({ machine: (machine) => (machine.schematic = () => Promise.reject(refused)) });
    expect(outcome).toEqual([
      expect.stringMatching(/^machines\.gpu-1: talosconfig: its context home is of another cluster/),
    ]);
  });

  test("credentials that have expired, and nobody is asked with them", async () => {
    const finding = { problem: "expired on 2021-01-01", why: "", remedy: "" };
    const expired = ["talosconfig", "kubeconfig"].map((field) => ({ field, ...finding }));
    const { outcome } = await ask({
      ...{ expired, version: "v99.0.0", nodes: new CallError("refused", "Kubernetes: nodes: Unauthorized") },
      machine: (machine) => (machine.schematic = () => Promise.reject(new Error("asked"))),
    });
    expect(outcome).toEqual([
      "talosconfig: expired on 2021-01-01",
      "kubeconfig: expired on 2021-01-01",
      expect.stringMatching(/v99/),
    ]);
  });

  test("all of it at once", async () => {
    const { outcome } = await ask({
      ...{ version: "v99.0.0", owners: { "gpu-operator": "shop/test/ns 77" } },
      machine: running({ "iscsi-tools": "v0.2.0" }),
    });
    expect(outcome).toHaveLength(3);
  });
});

describe("what cannot be told from here is let pass, and said", () => {
  const unknown = { unknown: "it is asked through a proxy" };
  test.each<[string, Partial<Stand>, RegExp | undefined]>([
    [
      "a repository behind a proxy",
      { web: { [`${repository}/index.yaml`]: unknown } },
      /chart gpu-operator .*: not known .*proxy/,
    ],
    [
      "a private repository",
      { web: { [`${repository}/index.yaml`]: { status: 401, body: "" } } },
      /not known .* answers 401/,
    ],
    [
      "an index that is a page to log in",
      { web: { [`${repository}/index.yaml`]: { status: 200, body: "<html>" } } },
      /cannot be read/,
    ],
    [
      "a repository that answers no HEAD",
      { web: { [`${repository}/${archive}`]: { status: 405, body: "" } } },
      undefined,
    ],
    ["charts from a mirror that is not asked", { environment: { TALOS_GPU_CHARTS: "none" } }, /not asked for/],
    [
      "a Factory that is not reached from here",
      { web: { [Object.keys(there)[2]!]: { silent: "ENOTFOUND" } } },
      /image .*: not known \(ENOTFOUND\)/,
    ],
    [
      "a registry in between that has not got it yet",
      { web: { [Object.keys(there)[2]!]: { status: 404, body: '{"errors":[]}' } } },
      /image .*: not known \(it answers 404\)/,
    ],
    [
      "a registry that asks who we are",
      { web: { [Object.keys(there)[2]!]: { status: 401, body: "" } } },
      /image .*: not known \(it answers 401\)/,
    ],
    [
      "Kubernetes that is down, where nothing is drained",
      { drain: false, nodes: new CallError("unreachable", "Kubernetes: nodes: ECONNREFUSED") },
      /the update goes on/,
    ],
    [
      "a user that may not list nodes",
      { nodes: new CallError("refused", 'Kubernetes: nodes: nodes is forbidden: User "x" cannot list') },
      /not asked \(.*forbidden/,
    ],
    [
      "a machine that is down",
      { machine: (machine) => void (machine.down = true) },
      /gpu-1: not asked what it would lose/,
    ],
    [
      "a kubeconfig that leads through a proxy, of a machine that is about to join",
      { nodes: [strange], authority: certificate("cHJveHk=") },
      /cannot be told from here/,
    ],
    ["a node that was renamed and is listed twice", { nodes: [node({ name: "old" }), node()] }, undefined],
    ["a machine that has booted since its node told", { nodes: [node({ bootId: "boot-0" }), strange] }, undefined],
    ["nodes that tell no boot", { nodes: [node({ bootId: "" }), node({ name: "gpu-2", bootId: "" })] }, undefined],
    ["a namespace of ours", { owners: { "gpu-operator": "shop/prod/gpu-namespace 6f1c" } }, undefined],
  ])("%s", async (_, changes, said) => {
    const { outcome, lines } = await ask(changes);
    expect(outcome).toMatchObject(brought([schematics.gpu]));
    if (said !== undefined) expect(lines).toContainEqual(expect.stringMatching(said));
  });
});

describe("again", () => {
  const before = brought([schematics.other]);
  const lossy = running({ "iscsi-tools": "v0.2.0" });

  test("a machine that is wanted as before is not asked", async () => {
    const { outcome } = await ask({ machine: lossy }, before);
    expect(outcome).toEqual({ ...brought([schematics.gpu, schematics.other]), together });
  });

  test("what the stack brought itself may be taken out of it", async () => {
    const ours = (machine: FakeMachine): void => {
      lossy(machine);
      machine.schematicId = schematics.other;
    };
    expect((await ask({ wanted: "2", machine: ours }, before)).outcome).toMatchObject({ machines: {} });
    expect((await ask({ wanted: "2", machine: lossy }, before)).outcome).toEqual([
      expect.stringMatching(/iscsi-tools/),
    ]);
  });
});

test("a machine that is looked for at another address is asked again, with nothing else changed", async () => {
  const moved = { machines: [{ address: "10.0.0.2" }], nodes: [node({ name: "gpu-2" })] };
  expect((await ask(moved, brought([schematics.gpu]))).outcome).toEqual([
    expect.stringMatching(/^machines\.gpu-1\.address: the machine at 10\.0\.0\.2 is node gpu-2/),
  ]);
});

test.each<[string, Partial<Stand>, RegExp]>([
  [
    "leaves in the same update",
    { machines: [{ machine: "gpu-2" }], nodes: [] },
    /10\.0\.0\.1 belongs to gpu-1, which leaves/,
  ],
  ["is another owner's from now on", { machines: [{ configuration: "owned" }] }, /changes from adopted to owned/],
])("a machine is refused where what the stack added to it is removed last: it %s", async (_, changes, said) => {
  expect((await ask(changes, brought([schematics.gpu]))).outcome).toEqual([expect.stringMatching(said)]);
});

test("a mirror has a folder for each repository's address", async () => {
  const mirror = "http://127.0.0.1:1";
  const web = {
    [`${mirror}/charts.example/nvidia/index.yaml`]: { status: 200, body: index },
    [`${mirror}/charts.example/nvidia/${archive}`]: { status: 200, body: "" },
  };
  const { outcome, asked } = await ask({ web, environment: { TALOS_GPU_CHARTS: `${mirror}/` } });
  expect(outcome).toMatchObject({ machines: {} });
  expect(asked).toContain(`${mirror}/charts.example/nvidia/index.yaml`);
});
