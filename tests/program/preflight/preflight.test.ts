import type { AskedCluster } from "../../../components/program/preflight/preflight";
import { CallError } from "../../../components/clients/failure";
import { failsWith, type FakeMachine, nodeState, schematics } from "../fakes";
import { archive, ask, brought, certificate, index, node, type Stand, strange } from "./stand";

const installs = {
  field: "gpuOperator",
  release: "gpu-operator",
  namespace: "gpu-operator",
} as const;

/** Hash by which the preflight remembers that the credentials belong to one cluster. */
const together = expect.stringMatching(/^[0-9a-f]{16}$/) as string;

/** A run of the preflight, and its expected result. */
interface Preflight {
  /** Changes of the default world, in which everything exists. */
  around: Partial<Stand>;
  /** Schematics that the stack is known to have installed. Default: the machine is new. */
  broughtBefore?: string[];
  /** All findings, in order, each by its parts. Default: none, and the answer remembers the request. */
  refusals?: (RegExp | RegExp[])[];
  /** A line of progress. */
  logs?: RegExp;
  /** All warnings, each by its parts. Default: none. */
  warnings?: (RegExp | RegExp[])[];
}

async function play({
  around,
  broughtBefore,
  refusals,
  logs,
  warnings = [],
}: Preflight): Promise<void> {
  const { outcome, lines } = await ask(around, broughtBefore && brought(broughtBefore));
  if (refusals) expectParts(outcome, refusals);
  else
    expect(outcome).toMatchObject({
      histories: [[...new Set([schematics.gpu, ...(broughtBefore ?? [])])]],
    });
  if (logs) expect(lines).toContainEqual(expect.stringMatching(logs));
  const warned = lines.filter((line) => line.startsWith("warning"));
  expectParts(warned, warnings);
}

/** Fails unless each text has its parts, and there is no other text. */
function expectParts(texts: unknown, wanted: (RegExp | RegExp[])[]): void {
  expect(texts).toEqual(wanted.map(() => expect.any(String)));
  for (const [index, parts] of wanted.entries())
    for (const part of [parts].flat()) expect((texts as string[])[index]).toMatch(part);
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const anotherStacks = { "gpu-operator": "shop/test/ns 77" };
const isAnotherStacks = /^kubeconfig: Namespace gpu-operator was made by shop\/test\/ns/;
const losesAnExtension: Partial<FakeMachine> = {
  runningImage: {
    extensions: { "iscsi-tools": "v0.2.0" },
    configuredArgs: [],
    platform: "metal",
    secureBoot: false,
  },
};
const namesTheExtension =
  /^machines\.gpu-1\.extensions: the machine runs siderolabs\/iscsi-tools v0\.2\.0/;

test.each<[keyof AskedCluster, RegExp, Partial<Stand>]>([
  [
    "podsOfClass",
    /^not known whether other users' pods use RuntimeClass nvidia \(no answer\)$/,
    { classed: [] },
  ],
  [
    "runtimeClass",
    /^not known whether RuntimeClass nvidia already exists \(no answer\)$/,
    { installs },
  ],
  [
    "annotationOf",
    /^not known whether another stack made Namespace gpu-operator \(no answer\)$/,
    {},
  ],
])("the preflight reports what is unknown if Kubernetes does not answer %s", (call, logs, more) =>
  play({
    around: {
      ...more,
      through: (client, kind) =>
        kind === "cluster"
          ? { ...client, [call]: () => Promise.reject(new CallError("unreachable", "no answer")) }
          : client,
    },
    logs,
  }),
);

describe("the preflight", () => {
  test("refuses a repository that is down", () =>
    play({
      around: { web: { index: { silent: "ECONNREFUSED" } } },
      refusals: [/^gpuOperator: the chart repository .* cannot be reached: ECONNREFUSED/],
    }));

  test("refuses a repository that is gone", () =>
    play({
      around: { web: { index: { status: 404, body: "" } } },
      refusals: [/cannot be reached: it answers 404/],
    }));

  test("refuses a release that the repository lacks", () =>
    play({
      around: { version: "v99.0.0" },
      refusals: [/has no chart gpu-operator v99\.0\.0 \(it has v25\.10\.1, v25\.3\.4/],
    }));

  test("refuses a listed chart whose archive is gone", () =>
    play({
      around: { web: { archive: { status: 404, body: "" } } },
      refusals: [/but lacks its archive/],
    }));

  test("refuses an image that the Image Factory cannot make", () =>
    play({
      around: {
        web: { image: { status: 400, body: 'official extension "x" is not available\n' } },
      },
      refusals: [
        /^talosVersion: the Image Factory does not have .*: official extension "x" is not available \(400\)/,
      ],
    }));

  test("refuses a Kubernetes API that does not answer", () =>
    play({
      around: { nodes: new CallError("unreachable", "Kubernetes: nodes: ECONNREFUSED") },
      refusals: [
        [
          /^kubeconfig: the Kubernetes API at https:\/\/10\.0\.0\.9:6443 did not answer within 3m /,
          /did not answer within 3m \(last: Kubernetes: nodes: ECONNREFUSED\)/,
        ],
      ],
    }));

  test("refuses a user that Kubernetes does not know", () =>
    play({
      around: { nodes: new CallError("refused", "Kubernetes: nodes: Unauthorized") },
      refusals: [/^kubeconfig: the Kubernetes API does not accept its user/],
    }));

  test("refuses a kubeconfig of another API server", () =>
    play({
      around: { nodes: new CallError("refused", "Kubernetes: nodes: self-signed certificate") },
      refusals: [/^kubeconfig: it belongs to another cluster: the kubeconfig's CA did not sign/],
    }));

  const behind = {
    talosVersion: "v1.10.9",
    schematicId: schematics.gpu,
    active: "machine: {kernel: {modules: [{name: nvidia}]}}",
    persistent: "",
    driverVersions: { "v1.10.9": "570.148.08" },
  };
  const between = (release: string): string =>
    `https://factory.talos.dev/v2/metal-installer/${schematics.gpu}/manifests/${release}`;
  test("refuses a machine several minors behind on which no NVIDIA driver is loaded", () =>
    play({
      around: { machine: { talosVersion: "v1.10.9" } },
      refusals: [
        [
          /^machines\.gpu-1\.talosVersion: the upgrade from v1\.10\.9 to v1\.12\.6 goes over v1\.11\.6, but no NVIDIA driver is loaded on the machine/,
          /make 2 updates: set talosVersion to v1\.11\.6 first, then to v1\.12\.6$/,
        ],
      ],
    }));

  test("refuses an intermediate release whose image the Image Factory cannot make", () =>
    play({
      around: {
        machine: behind,
        mirror: {
          "https://factory.talos.dev/versions": { status: 200, body: '["v1.11.3", "v1.12.6"]' },
          [between("v1.11.3")]: { status: 400, body: "official extension is not available" },
        },
      },
      refusals: [
        /^talosVersion: the Image Factory does not have \S+:v1\.11\.3: official extension/,
      ],
    }));

  test("refuses a configuration that the running release cannot read", () =>
    play({
      around: {
        machines: [{ configuration: "owned", contract: "v1.12.6" }],
        machine: { talosVersion: "v1.11.6" },
      },
      refusals: [
        [
          /^machines\.gpu-1\.versionContract: the machine runs v1\.11\.6, /,
          /v1\.11\.6, but its configuration is generated for v1\.12\.6/,
        ],
      ],
    }));

  test("refuses NVIDIA's runtime as the default runtime if the next image lacks it", () =>
    play({
      around: {
        machines: [{ handler: false }],
        machine: { active: "machine: {files: [{content: \"default_runtime_name = 'nvidia'\"}]}\n" },
      },
      refusals: [
        [
          /^machines\.gpu-1: the machine's configuration: makes nvidia the default runtime of containerd, /,
          /default runtime of containerd, .*the kubelet does not start; leave it out/,
        ],
      ],
    }));

  test("accepts NVIDIA's runtime as the default runtime if the next image has it", () =>
    play({
      around: {
        machine: { active: "machine: {files: [{content: \"default_runtime_name = 'nvidia'\"}]}\n" },
      },
    }));

  test("warns about other users' pods with a RuntimeClass that the update removes", () =>
    play({
      around: { classed: ["gpu-operator/gpu-feature-discovery-x", "ai/whisper-0"] },
      warnings: [
        [
          /^warning: no machine will have a handler for RuntimeClass nvidia, /,
          /RuntimeClass nvidia, which these pods use: ai\/whisper-0; remove runtimeClassName/,
        ],
      ],
    }));

  test("does not warn if only the operator's pods have a RuntimeClass that the update removes", () =>
    play({ around: { classed: ["gpu-operator/gpu-feature-discovery-x"] }, warnings: [] }));

  test("refuses a namespace that belongs to another stack", () =>
    play({ around: { owners: anotherStacks }, refusals: [isAnotherStacks] }));

  test("refuses a kubeconfig of another cluster", () =>
    play({
      around: {
        nodes: [strange],
        authority: base64("other"),
        machine: {
          active: `cluster: {ca: {crt: ${base64(certificate(base64("ours")))}}}
`,
        },
      },
      refusals: [
        [
          /^kubeconfig: belongs to another cluster than the talosconfig\. /,
          /than the talosconfig\. .* none of its nodes \(other\) is a machine of the stack: gpu-1 \(10\.0\.0\.1\)/,
        ],
      ],
    }));

  test("refuses a machine whose node has another name", () =>
    play({
      around: { nodes: [node({ name: "gpu-1.home.example" })] },
      refusals: [
        /^machines\.gpu-1\.address: the machine at 10\.0\.0\.1 is node gpu-1\.home\.example/,
      ],
    }));

  const swapped = [node({ bootId: "boot-7", addresses: ["10.0.0.2"] }), node({ name: "gpu-2" })];
  const isOtherNode = /^machines\.gpu-1\.address: the machine at 10\.0\.0\.1 is node gpu-2/;
  test("refuses an address that belongs to another machine", () =>
    play({ around: { nodes: swapped }, refusals: [isOtherNode] }));

  test("refuses an owned machine if another machine's node has its name", () =>
    play({
      around: { machines: [{ configuration: "owned" }], nodes: swapped },
      refusals: [isOtherNode],
    }));

  test("refuses an image without an extension that the machine runs", () =>
    play({ around: { machine: losesAnExtension }, refusals: [namesTheExtension] }));

  test("refuses a talosconfig of another cluster", () =>
    play({
      around: {
        machine: {
          schematic: failsWith(
            "refused",
            "talosctl get failed (exit 1): x509: certificate signed by unknown authority",
          ),
        },
      },
      refusals: [/^machines\.gpu-1: talosconfig: context home belongs to another cluster/],
    }));

  test("refuses expired credentials without using them", () =>
    play({
      around: {
        expired: [
          { field: "talosconfig", problem: "expired on 2021-01-01", why: "", remedy: "" },
          { field: "kubeconfig", problem: "expired on 2021-01-01", why: "", remedy: "" },
        ],
        version: "v99.0.0",
        nodes: new CallError("refused", "Kubernetes: nodes: Unauthorized"),
        machine: { schematic: failsWith("refused", "asked") },
      },
      refusals: [
        /^talosconfig: expired on 2021-01-01; ; $/,
        /^kubeconfig: expired on 2021-01-01; ; $/,
        /v99/,
      ],
    }));

  test("reports several findings at once", () =>
    play({
      around: { version: "v99.0.0", owners: anotherStacks, machine: losesAnExtension },
      refusals: [/v99/, isAnotherStacks, namesTheExtension],
    }));
});

describe("an index of thousands of charts", () => {
  const other = (name: number): string =>
    `  chart-${name}:\n${"  - {version: 1.0.0, urls: [x.tgz]}\n".repeat(10)}`;
  const others = (from: number): string =>
    Array.from({ length: 2_000 }, (_, at) => other(from + at)).join("");
  const withOthers = (chart: string): string =>
    `apiVersion: v1\nentries:\n${others(0)}${chart}${others(2_000)}generated: "2026-11-28"\n`;
  const chart = (version: string): string =>
    `  gpu-operator:\n  - annotations: {a: b}\n    urls:\n    - ${archive}\n    version: ${version}\n`;

  test("is searched for the stack's chart", () =>
    play({
      around: { web: { index: { status: 200, body: withOthers(chart("v25.10.1")) } } },
      logs: /chart gpu-operator v25\.10\.1: found/,
    }));

  test("is refused if it lacks the release of the stack's chart", () =>
    play({
      around: { web: { index: { status: 200, body: withOthers(chart("v24.9.0")) } } },
      refusals: [/has no chart gpu-operator v25\.10\.1 \(it has v24\.9\.0 and others/],
    }));
});

describe("the preflight accepts", () => {
  test("a repository behind a proxy", () =>
    play({
      around: { web: { index: { unknown: "it is reached through a proxy" } } },
      logs: /chart gpu-operator .*: not known .*proxy/,
    }));

  test("a private repository", () =>
    play({
      around: { web: { index: { status: 401, body: "" } } },
      logs: /not known .* answers 401/,
    }));

  test("an index that is a page to log in", () =>
    play({ around: { web: { index: { status: 200, body: "<html>" } } }, logs: /cannot be read/ }));

  test("an index whose YAML cannot be read", () =>
    play({
      around: { web: { index: { status: 200, body: `entries: ${"[".repeat(400_000)}` } } },
      logs: /cannot be read/,
    }));

  test("a repository that does not answer the method HEAD", () =>
    play({ around: { web: { archive: { status: 405, body: "" } } } }));

  test("a chart if TALOS_GPU_CHARTS turns its check off", () =>
    play({ around: { environment: { TALOS_GPU_CHARTS: "none" } }, logs: /not checked/ }));

  test("an Image Factory that does not answer", () =>
    play({
      around: { web: { image: { silent: "ENOTFOUND" } } },
      logs: /image .*: not known whether it exists \(ENOTFOUND\)/,
    }));

  test("a pull-through registry that does not have the image yet", () =>
    play({
      around: { web: { image: { status: 404, body: '{"errors":[]}' } } },
      logs: /image .*: not known whether it exists \(it answers 404\)/,
    }));

  test("an Image Factory whose server does not know the path", () =>
    play({
      around: { web: { image: { status: 404, body: "404 page not found\n" } } },
      logs: /image .*: not known whether it exists \(it answers 404\)/,
    }));

  test("a registry that asks for credentials", () =>
    play({
      around: { web: { image: { status: 401, body: "" } } },
      logs: /image .*: not known whether it exists \(it answers 401\)/,
    }));

  test("a Kubernetes API that is down if the update drains no machine", () =>
    play({
      around: {
        drain: false,
        nodes: new CallError("unreachable", "Kubernetes: nodes: ECONNREFUSED"),
      },
      logs: /no answer within 3m .*; the update drains no machine, so it goes on/,
    }));

  test("a user that may not list nodes", () =>
    play({
      around: {
        nodes: new CallError(
          "refused",
          'Kubernetes: nodes: nodes is forbidden: User "x" cannot list',
        ),
      },
      logs: /no answer, so its checks are skipped \(.*forbidden/,
    }));

  test("a machine that is down", () =>
    play({
      around: { machine: { down: true } },
      logs: /gpu-1: not known what the upgrade would remove from the machine/,
    }));

  test("a kubeconfig with a proxy's CA if the machine has no node yet", () =>
    play({
      around: { nodes: [strange], authority: base64("proxy") },
      logs: /not known whether talosconfig and kubeconfig belong to one cluster/,
    }));

  test("a machine whose renamed node is listed under both names", () =>
    play({ around: { nodes: [node({ name: "old" }), node()] } }));

  test("a machine that has booted since its node reported", () =>
    play({ around: { nodes: [node({ bootId: "boot-0" }), strange] } }));

  test("nodes that report no boot", () =>
    play({ around: { nodes: [node({ bootId: "" }), node({ name: "gpu-2", bootId: "" })] } }));

  test("a namespace of this stack", () =>
    play({ around: { owners: { "gpu-operator": "shop/prod/gpu-namespace 6f1c" } } }));

  test("an owned machine that gets a new node name, with a warning that its old node is not drained", () =>
    play({
      around: { machines: [{ configuration: "owned" }], nodes: [node({ name: "talos-abc-123" })] },
      warnings: [/^warning: gpu-1: .* is node talos-abc-123 .*`kubectl drain talos-abc-123 /],
    }));
});

test("on a newly adopted machine, a stack without driver fields may not change the running driver", async () => {
  const machine: Partial<FakeMachine> = {
    runningImage: {
      extensions: { "nonfree-kmod-nvidia-lts": "535.247.01" },
      configuredArgs: [],
      platform: "metal",
      secureBoot: false,
    },
  };
  const machines: Stand["machines"] = [{ unnamedDriver: ["branch", "flavour"] }];
  await play({ around: { machine, machines }, refusals: [/^machines\.gpu-1\.driver: .*lts/] });
  await play({ around: { machine } });
  await play({
    around: { wanted: "2", machine: { ...machine, schematicId: schematics.other }, machines },
    broughtBefore: [schematics.other],
  });
});

describe("a later preflight", () => {
  test("accepts an unchanged machine without asking it", () =>
    play({ around: { machine: losesAnExtension }, broughtBefore: [schematics.other] }));

  test("accepts the loss of parts that the stack itself brought", () =>
    play({
      around: { wanted: "2", machine: { ...losesAnExtension, schematicId: schematics.other } },
      broughtBefore: [schematics.other],
    }));

  test("refuses the loss of parts that the stack did not bring", () =>
    play({
      around: { wanted: "2", machine: losesAnExtension },
      broughtBefore: [schematics.other],
      refusals: [namesTheExtension],
    }));

  test("asks a machine again after a change of its address", () =>
    play({
      around: { machines: [{ address: "10.0.0.2" }], nodes: [node({ name: "gpu-2" })] },
      broughtBefore: [schematics.gpu],
      refusals: [/^machines\.gpu-1\.address: the machine at 10\.0\.0\.2 is node gpu-2/],
    }));

  test("refuses a new machine at the address of a machine that leaves in the same update", () =>
    play({
      around: { machines: [{ machine: "gpu-2" }], nodes: [] },
      broughtBefore: [schematics.gpu],
      refusals: [/10\.0\.0\.1 belongs to the machine gpu-1, which this update removes/],
    }));

  test("refuses to change a machine from adopted to owned in one update", () =>
    play({
      around: { machines: [{ configuration: "owned" }] },
      broughtBefore: [schematics.gpu],
      refusals: [/changes from adopted to owned/],
    }));
});

describe("a node that a failed update has left cordoned", () => {
  const cordoned = nodeState({
    unschedulable: true,
    annotations: { "talos-gpu/cordoned-by": "talos-gpu" },
  });
  test("gets a warning if the stack's machine has changed", () =>
    play({
      around: { wanted: "2", state: cordoned },
      broughtBefore: [schematics.gpu],
      warnings: [
        /^warning: gpu-1: an earlier update failed: node gpu-1 is still cordoned.*change `reconcileToken`/,
      ],
    }));

  test("gets no warning if the stack's machine is unchanged", () =>
    play({ around: { state: cordoned }, broughtBefore: [schematics.gpu], warnings: [] }));

  test("gets no warning if the machine is new to the stack", () =>
    play({ around: { state: cordoned }, warnings: [] }));

  test("gets no warning if the user cordoned it", () =>
    play({
      around: { wanted: "2", state: { ...cordoned, annotations: {} } },
      broughtBefore: [schematics.gpu],
      warnings: [],
    }));

  test("gets no warning if it is no longer cordoned", () =>
    play({
      around: { wanted: "2", state: { ...cordoned, unschedulable: false } },
      broughtBefore: [schematics.gpu],
      warnings: [],
    }));
});

describe("the volume of a workload", () => {
  const volume = {
    field: "workloads.ollama",
    owner: "shop/prod/lab-ollama-models",
    name: "ollama-models",
    namespace: "ollama",
  };
  const fastVolume = { ...volume, storageClass: "fast" };
  const slowVolume = { ...volume, storageClass: "slow" };
  const volumeInAi = { ...volume, namespace: "ai" };
  /** The claim's class was chosen by the cluster. */
  const claimOfDefault = {
    name: "ollama-models",
    namespace: "ollama",
    owner: "shop/prod/lab-ollama-models 6f1c",
    givenClass: undefined,
    storageClass: "slow",
  };
  /** The claim's class was given by the stack. */
  const claimOfSlow = { ...claimOfDefault, givenClass: "slow" };
  test("is refused if storageClass is not the class of its claim", () =>
    play({
      around: { volumes: [fastVolume], claims: [claimOfSlow] },
      refusals: [
        [
          /^workloads\.ollama\.storageClass: is fast, but claim ollama\/ollama-models /,
          /ollama-models was created with slow; .*; write slow\. /,
        ],
      ],
    }));

  test("is refused if storageClass is new in the stack, even if the cluster chose the same class", () =>
    play({
      around: { volumes: [slowVolume], claims: [claimOfDefault] },
      refusals: [
        /storageClass: is slow, but .* was created with the cluster's default, slow; .*; remove storageClass\. /,
      ],
    }));

  test("is refused if the stack no longer sets storageClass", () =>
    play({
      around: { volumes: [volume], claims: [claimOfSlow] },
      refusals: [/storageClass: is not set, but .* was created with slow; .*; write slow\. /],
    }));

  test("is refused if its workload moves to another namespace", () =>
    play({
      around: { volumes: [volumeInAi], claims: [claimOfDefault] },
      refusals: [
        [
          /^workloads\.ollama\.namespace: is ai, but the workload's volume is in ollama; /,
          /volume is in ollama; .*would delete claim .* with its data.*; write ollama\. /,
        ],
      ],
    }));

  test("is accepted if the stack is unchanged", () =>
    play({ around: { volumes: [volume], claims: [claimOfDefault] } }));

  test("is accepted if storageClass is the class of its claim", () =>
    play({ around: { volumes: [slowVolume], claims: [claimOfSlow] } }));

  test("is accepted if its claim belongs to another stack", () =>
    play({
      around: { volumes: [volumeInAi], claims: [{ ...claimOfDefault, owner: "shop/test/x 1" }] },
    }));

  test("is accepted if it has no claim yet", () =>
    play({ around: { volumes: [volume], claims: [] } }));

  test("is accepted if its claim belongs to another cluster of the same stack", () =>
    play({
      around: {
        volumes: [volumeInAi],
        claims: [{ ...claimOfDefault, owner: "shop/prod/other-ollama-models 6f1c" }],
      },
    }));

  test("is accepted if its workload is removed", () =>
    play({ around: { volumes: [], claims: [claimOfDefault] } }));
});

test("a preflight without findings changes no machine, and its answer has the earlier images", async () => {
  const { outcome, machine } = await ask();
  expect(outcome).toEqual({ ...brought([schematics.gpu]), together });
  expect(machine.calls).toEqual([]);
  const again = await ask({}, brought([schematics.other]));
  expect(again.outcome).toEqual({ ...brought([schematics.gpu, schematics.other]), together });
});

test.each<[string, string, string[], boolean]>([
  [
    "refused before Talos 1.15 with multipath-tools",
    "v1.15.0",
    ["siderolabs/multipath-tools"],
    true,
  ],
  ["accepted before Talos 1.15 without multipath-tools", "v1.15.0", [], false],
  ["accepted before Talos 1.14", "v1.14.6", ["siderolabs/multipath-tools"], false],
])(
  "the service configuration of multipathd on an adopted machine is %s",
  async (_, talosVersion, extensions, isRefused) => {
    const active =
      "machine: {}\n---\napiVersion: v1alpha1\nkind: ExtensionServiceConfig\nname: multipathd\n";
    const image = { extensions, kernelArgs: [] };
    const { outcome } = await ask({
      machines: [{ talosVersion, image }],
      machine: { active, talosVersion: "v1.14.6" },
    });
    const words =
      /^machines\.gpu-1: the machine's configuration: has an ExtensionServiceConfig for multipathd.*EtcFileConfig/;
    const told = (Array.isArray(outcome) ? outcome : []).filter((finding) => words.test(finding));
    expect(told).toHaveLength(isRefused ? 1 : 0);
  },
);

test("the preflight checks only once, until a change, that the credentials belong to one cluster", async () => {
  const { outcome } = await ask();
  const machine = { bootId: failsWith("refused", "asked again") };
  expect((await ask({ machine }, outcome)).outcome).toEqual(outcome);
  expect((await ask({ machine, authority: "another" }, outcome)).outcome).not.toHaveProperty(
    "together",
  );
});

test("in a mirror, a repository's folder has the repository's address as its path", async () => {
  const mirror = "http://127.0.0.1:1";
  const answers = {
    [`${mirror}/charts.example/nvidia/index.yaml`]: { status: 200, body: index },
    [`${mirror}/charts.example/nvidia/${archive}`]: { status: 200, body: "" },
  };
  const { outcome, asked } = await ask({
    mirror: answers,
    environment: { TALOS_GPU_CHARTS: `${mirror}/` },
  });
  expect(outcome).toMatchObject({ machines: {} });
  expect(asked).toContain(`${mirror}/charts.example/nvidia/index.yaml`);
});

test("the preflight reports the reason of a wait once, and again when it changes", async () => {
  const { lines, outcome } = await ask({
    silentAtFirst: ["ECONNREFUSED", "ECONNREFUSED", "no route to host"],
  });
  expect(outcome).toMatchObject({ machines: {} });
  const waits = "waits up to 3m for the Kubernetes API at https://10.0.0.9:6443:";
  expect(lines.filter((line) => line.startsWith("waits"))).toEqual([
    `${waits} ECONNREFUSED`,
    `${waits} no route to host`,
  ]);
});
