import type { AskedCluster } from "../../../components/program/preflight/preflight";
import type { PreflightTask } from "../../../components/program/preflight/task";
import type { Storage } from "../../../components/program/cluster/cluster";
import { CallError } from "../../../components/clients/failure";
import { answerProblem, connectionProblem } from "../../../components/clients/kubernetes/error";
import { failsWith, type FakeMachine, nodeState, schematics } from "../fakes";
import {
  chartArchive,
  runPreflight,
  earlierResult,
  certificate,
  repositoryIndex,
  node,
  type PreflightSetup,
  foreignNode,
} from "./run-preflight";

const installs = {
  field: "gpuOperator",
  release: "gpu-operator",
  namespace: "gpu-operator",
} as const;

/** The volume of a workload; its claim does not exist unless a test says so. */
const newVolume: PreflightTask["volumes"][number] = {
  field: "workloads.ollama",
  owner: "shop/prod/lab-ollama-models",
  name: "ollama-models",
  namespace: "ollama",
};

/** Hash by which the preflight remembers that the credentials belong to one cluster. */
const credentialsHash = expect.stringMatching(/^[0-9a-f]{16}$/) as string;

/** A run of the preflight, and its expected result. */
interface PreflightCase {
  /** Changes of the default setup, in which everything exists. */
  setup: Partial<PreflightSetup>;
  /** Schematics that the stack has installed on the machine. Default: the machine is new. */
  installedBefore?: string[];
  /** All findings, in order, each by its parts. Default: none, and the answer remembers the request. */
  findings?: (RegExp | RegExp[])[];
  /** A line of progress. */
  logs?: RegExp;
  /** All warnings, each by its parts. Default: none. */
  warnings?: (RegExp | RegExp[])[];
}

async function checkPreflight({
  setup,
  installedBefore,
  findings,
  logs,
  warnings = [],
}: PreflightCase): Promise<void> {
  const { outcome, lines } = await runPreflight(
    setup,
    installedBefore && earlierResult(installedBefore),
  );
  if (findings) expectParts(outcome, findings);
  else
    expect(outcome).toMatchObject({
      histories: [[...new Set([schematics.gpu, ...(installedBefore ?? [])])]],
    });
  if (logs) expect(lines).toContainEqual(expect.stringMatching(logs));
  const loggedWarnings = lines.filter((line) => line.startsWith("warning"));
  expectParts(loggedWarnings, warnings);
}

/** Fails unless each text has its parts, and there is no other text. */
function expectParts(texts: unknown, expectedParts: (RegExp | RegExp[])[]): void {
  expect(texts).toEqual(expectedParts.map(() => expect.any(String)));
  for (const [index, parts] of expectedParts.entries())
    for (const part of [parts].flat()) expect((texts as string[])[index]).toMatch(part);
}

const base64 = (text: string): string => Buffer.from(text).toString("base64");

const ownersWithAnotherStack = { "gpu-operator": "shop/test/ns 77" };
const namesAnotherStack = /^kubeconfig: Namespace gpu-operator was made by shop\/test\/ns/;
const machineWithExtension: Partial<FakeMachine> = {
  runningImage: {
    extensions: { "iscsi-tools": "v0.2.0" },
    configuredArgs: [],
    platform: "metal",
    secureBoot: false,
  },
};
const namesLostExtension =
  /^machines\.gpu-1\.extensions: the machine runs siderolabs\/iscsi-tools v0\.2\.0/;

test.each<[keyof AskedCluster, RegExp, Partial<PreflightSetup>]>([
  [
    "podsOfClass",
    /^not known whether other users' pods use RuntimeClass nvidia \(no answer\)$/,
    { podsOfRemovedClass: [] },
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
  [
    "exists",
    /^not known whether Namespace llm exists \(no answer\)$/,
    { needs: [{ field: "workloads.vllm.namespace", kind: "Namespace", name: "llm" }] },
  ],
  [
    "storage",
    /^not known whether the cluster has storage for the workloads' volumes \(no answer\)$/,
    { volumes: [newVolume] },
  ],
])("the preflight reports what is unknown if Kubernetes does not answer %s", (call, logs, setup) =>
  checkPreflight({
    setup: {
      ...setup,
      wrapClient: (client, kind) =>
        kind === "cluster"
          ? { ...client, [call]: () => Promise.reject(new CallError("unreachable", "no answer")) }
          : client,
    },
    logs,
  }),
);

describe("the preflight", () => {
  test("refuses a repository that is down", () =>
    checkPreflight({
      setup: { web: { index: { silent: "ECONNREFUSED" } } },
      findings: [/^gpuOperator: the chart repository .* cannot be reached: ECONNREFUSED/],
    }));

  test("refuses a repository that is gone", () =>
    checkPreflight({
      setup: { web: { index: { status: 404, body: "" } } },
      findings: [/cannot be reached: it answers 404/],
    }));

  test("refuses a release that the repository lacks", () =>
    checkPreflight({
      setup: { chartVersion: "v99.0.0" },
      findings: [/has no chart gpu-operator v99\.0\.0 \(it has v25\.10\.1, v25\.3\.4/],
    }));

  test("refuses a listed chart whose archive is gone", () =>
    checkPreflight({
      setup: { web: { archive: { status: 404, body: "" } } },
      findings: [/but lacks its archive/],
    }));

  test("refuses an image that the Image Factory cannot make", () =>
    checkPreflight({
      setup: {
        web: { image: { status: 400, body: 'official extension "x" is not available\n' } },
      },
      findings: [
        /^talosVersion: the Image Factory does not have .*: official extension "x" is not available \(400\)/,
      ],
    }));

  test("refuses a Kubernetes API that does not answer", () =>
    checkPreflight({
      setup: { nodes: new CallError("unreachable", "Kubernetes: nodes: ECONNREFUSED") },
      findings: [
        [
          /^kubeconfig: the Kubernetes API at https:\/\/10\.0\.0\.9:6443 did not answer within 3m /,
          /did not answer within 3m \(last: Kubernetes: nodes: ECONNREFUSED\)/,
        ],
      ],
    }));

  test("refuses a user that Kubernetes does not know", () =>
    checkPreflight({
      setup: {
        nodes: answerProblem(
          "nodes",
          "https://10.0.0.9:6443",
          { status: 401, headers: {}, body: "" },
          [],
        ),
      },
      findings: [/^kubeconfig: the Kubernetes API does not accept the user of the kubeconfig/],
    }));

  test("refuses a kubeconfig of another API server", () =>
    checkPreflight({
      setup: {
        nodes: connectionProblem(
          "nodes",
          "https://10.0.0.9:6443",
          Object.assign(new Error("self-signed certificate"), {
            code: "SELF_SIGNED_CERT_IN_CHAIN",
          }),
          30_000,
          [],
        ),
      },
      findings: [/^kubeconfig: it belongs to another cluster: the kubeconfig's CA did not sign/],
    }));

  const machineSeveralMinorsBehind = {
    talosVersion: "v1.10.9",
    schematicId: schematics.gpu,
    active: "machine: {kernel: {modules: [{name: nvidia}]}}",
    persistent: "",
    driverVersions: { "v1.10.9": "570.148.08" },
  };
  const manifestUrl = (release: string): string =>
    `https://factory.talos.dev/v2/metal-installer/${schematics.gpu}/manifests/${release}`;
  test("refuses a machine several minors behind on which no NVIDIA driver is loaded", () =>
    checkPreflight({
      setup: { machine: { talosVersion: "v1.10.9" } },
      findings: [
        [
          /^machines\.gpu-1\.talosVersion: the upgrade from v1\.10\.9 to v1\.12\.6 goes over v1\.11\.6, but no NVIDIA driver is loaded on the machine/,
          /make 2 updates: set talosVersion to v1\.11\.6 first, then to v1\.12\.6$/,
        ],
      ],
    }));

  test("refuses an intermediate release whose image the Image Factory cannot make", () =>
    checkPreflight({
      setup: {
        machine: machineSeveralMinorsBehind,
        webByUrl: {
          "https://factory.talos.dev/versions": { status: 200, body: '["v1.11.3", "v1.12.6"]' },
          [manifestUrl("v1.11.3")]: { status: 400, body: "official extension is not available" },
        },
      },
      findings: [
        /^talosVersion: the Image Factory does not have \S+:v1\.11\.3: official extension/,
      ],
    }));

  test("refuses a configuration that the running release cannot read", () =>
    checkPreflight({
      setup: {
        machines: [{ configuration: "owned", contract: "v1.12.6" }],
        machine: { talosVersion: "v1.11.6" },
      },
      findings: [
        [
          /^machines\.gpu-1\.versionContract: the machine runs v1\.11\.6, /,
          /v1\.11\.6, but its configuration is generated for v1\.12\.6/,
        ],
      ],
    }));

  test("refuses NVIDIA's runtime as the default runtime if the next image lacks it", () =>
    checkPreflight({
      setup: {
        machines: [{ handler: false }],
        machine: { active: "machine: {files: [{content: \"default_runtime_name = 'nvidia'\"}]}\n" },
      },
      findings: [
        [
          /^machines\.gpu-1: the machine's configuration: makes nvidia the default runtime of containerd, /,
          /default runtime of containerd, .*the kubelet does not start; leave this setting out/,
        ],
      ],
    }));

  test("accepts NVIDIA's runtime as the default runtime if the next image has it", () =>
    checkPreflight({
      setup: {
        machine: { active: "machine: {files: [{content: \"default_runtime_name = 'nvidia'\"}]}\n" },
      },
    }));

  test("warns about other users' pods with a RuntimeClass that the update removes", () =>
    checkPreflight({
      setup: { podsOfRemovedClass: ["gpu-operator/gpu-feature-discovery-x", "ai/whisper-0"] },
      warnings: [
        [
          /^warning: no machine will have a handler for RuntimeClass nvidia, /,
          /RuntimeClass nvidia, which these pods use: ai\/whisper-0; remove runtimeClassName/,
        ],
      ],
    }));

  test("does not warn if only the operator's pods have a RuntimeClass that the update removes", () =>
    checkPreflight({
      setup: { podsOfRemovedClass: ["gpu-operator/gpu-feature-discovery-x"] },
      warnings: [],
    }));

  const needs: PreflightSetup["needs"] = [
    { field: "workloads.vllm.namespace", kind: "Namespace", name: "llm" },
    {
      field: "workloads.vllm.huggingFaceToken",
      kind: "Secret",
      name: "hugging-face",
      namespace: "llm",
    },
  ];

  test("warns about a Secret that a workload needs and that does not exist", () =>
    checkPreflight({
      setup: { needs, missingObjects: ["hugging-face"] },
      warnings: [
        /^warning: workloads\.vllm\.huggingFaceToken: Secret llm\/hugging-face does not exist; create it before /,
      ],
    }));

  test("warns about a missing namespace, and not about the Secrets that it cannot contain", () =>
    checkPreflight({
      setup: { needs, missingObjects: ["llm", "hugging-face"] },
      warnings: [
        /^warning: workloads\.vllm\.namespace: Namespace llm does not exist, and this stack does not create it; /,
      ],
    }));

  test("does not warn if all needed objects exist", () =>
    checkPreflight({ setup: { needs }, warnings: [] }));

  test("refuses a namespace that belongs to another stack", () =>
    checkPreflight({
      setup: { namespaceOwners: ownersWithAnotherStack },
      findings: [namesAnotherStack],
    }));

  test("refuses a kubeconfig of another cluster", () =>
    checkPreflight({
      setup: {
        nodes: [foreignNode],
        authority: base64("other"),
        machine: {
          active: `cluster: {ca: {crt: ${base64(certificate(base64("ours")))}}}
`,
        },
      },
      findings: [
        [
          /^kubeconfig: belongs to another cluster than the talosconfig\. /,
          /than the talosconfig\. .* none of its nodes \(other\) is a machine of the stack: gpu-1 \(10\.0\.0\.1\)/,
        ],
      ],
    }));

  test("refuses a machine whose node has another name", () =>
    checkPreflight({
      setup: { nodes: [node({ name: "gpu-1.home.example" })] },
      findings: [
        /^machines\.gpu-1\.address: the machine at 10\.0\.0\.1 is node gpu-1\.home\.example/,
      ],
    }));

  const nodesWithSwappedAddresses = [
    node({ bootId: "boot-7", addresses: ["10.0.0.2"] }),
    node({ name: "gpu-2" }),
  ];
  const namesOtherNode = /^machines\.gpu-1\.address: the machine at 10\.0\.0\.1 is node gpu-2/;
  test("refuses an address that belongs to another machine", () =>
    checkPreflight({ setup: { nodes: nodesWithSwappedAddresses }, findings: [namesOtherNode] }));

  test("refuses an owned machine if another machine's node has its name", () =>
    checkPreflight({
      setup: { machines: [{ configuration: "owned" }], nodes: nodesWithSwappedAddresses },
      findings: [namesOtherNode],
    }));

  test("refuses an image without an extension that the machine runs", () =>
    checkPreflight({ setup: { machine: machineWithExtension }, findings: [namesLostExtension] }));

  const machineWithBothArgs: Partial<FakeMachine> = {
    runningImage: { extensions: {}, configuredArgs: [], hasArgsConflict: true },
  };

  test("refuses a configuration that the installer would refuse", () =>
    checkPreflight({
      setup: { machine: machineWithBothArgs },
      findings: [/sets both machine\.install\.extraKernelArgs/],
    }));

  test("accepts this configuration if the update installs no image", () =>
    checkPreflight({
      setup: {
        machine: { ...machineWithBothArgs, schematicId: schematics.gpu, talosVersion: "v1.12.6" },
      },
    }));

  test("refuses a talosconfig of another cluster", () =>
    checkPreflight({
      setup: {
        machine: {
          schematic: failsWith(
            "refused",
            "talosctl get failed (exit 1): x509: certificate signed by unknown authority",
          ),
        },
      },
      findings: [/^machines\.gpu-1: talosconfig: context home belongs to another cluster/],
    }));

  test("refuses expired credentials without using them", () =>
    checkPreflight({
      setup: {
        expiredCredentials: [
          { field: "talosconfig", problem: "expired on 2021-01-01", why: "", remedy: "" },
          { field: "kubeconfig", problem: "expired on 2021-01-01", why: "", remedy: "" },
        ],
        chartVersion: "v99.0.0",
        nodes: new CallError("refused", "Kubernetes: nodes: Unauthorized"),
        machine: { schematic: failsWith("refused", "requested") },
      },
      findings: [
        /^talosconfig: expired on 2021-01-01; ; $/,
        /^kubeconfig: expired on 2021-01-01; ; $/,
        /v99/,
      ],
    }));

  test("reports several findings at once", () =>
    checkPreflight({
      setup: {
        chartVersion: "v99.0.0",
        namespaceOwners: ownersWithAnotherStack,
        machine: machineWithExtension,
      },
      findings: [/v99/, namesAnotherStack, namesLostExtension],
    }));
});

describe("an index of thousands of charts", () => {
  const chartEntry = (number: number): string =>
    `  chart-${number}:\n${"  - {version: 1.0.0, urls: [x.tgz]}\n".repeat(10)}`;
  const chartEntries = (firstNumber: number): string =>
    Array.from({ length: 2_000 }, (_, offset) => chartEntry(firstNumber + offset)).join("");
  const indexWith = (chart: string): string =>
    `apiVersion: v1\nentries:\n${chartEntries(0)}${chart}${chartEntries(2_000)}generated: "2026-11-28"\n`;
  const chart = (version: string): string =>
    `  gpu-operator:\n  - annotations: {a: b}\n    urls:\n    - ${chartArchive}\n    version: ${version}\n`;

  test("is searched for the stack's chart", () =>
    checkPreflight({
      setup: { web: { index: { status: 200, body: indexWith(chart("v25.10.1")) } } },
      logs: /chart gpu-operator v25\.10\.1: found/,
    }));

  test("is refused if it lacks the release of the stack's chart", () =>
    checkPreflight({
      setup: { web: { index: { status: 200, body: indexWith(chart("v24.9.0")) } } },
      findings: [/has no chart gpu-operator v25\.10\.1 \(it has v24\.9\.0 and others/],
    }));
});

describe("the preflight accepts", () => {
  test("a repository behind a proxy", () =>
    checkPreflight({
      setup: {
        web: {
          index: {
            unknown:
              "not asked, because this server is behind a proxy, and the check uses no proxy",
          },
        },
      },
      logs: /chart gpu-operator .*: not known .*proxy/,
    }));

  test("a private repository", () =>
    checkPreflight({
      setup: { web: { index: { status: 401, body: "" } } },
      logs: /not known .* answers 401/,
    }));

  test("an index that is a page to log in", () =>
    checkPreflight({
      setup: { web: { index: { status: 200, body: "<html>" } } },
      logs: /cannot be read/,
    }));

  test("an index whose YAML cannot be read", () =>
    checkPreflight({
      setup: { web: { index: { status: 200, body: `entries: ${"[".repeat(400_000)}` } } },
      logs: /cannot be read/,
    }));

  test("a repository that does not answer the method HEAD", () =>
    checkPreflight({ setup: { web: { archive: { status: 405, body: "" } } } }));

  test("a chart if TALOS_GPU_CHARTS turns its check off", () =>
    checkPreflight({ setup: { environment: { TALOS_GPU_CHARTS: "none" } }, logs: /not checked/ }));

  test("an Image Factory that does not answer", () =>
    checkPreflight({
      setup: { web: { image: { silent: "ENOTFOUND" } } },
      logs: /image .*: not known whether it exists \(ENOTFOUND\)/,
    }));

  test("a pull-through registry that does not have the image yet", () =>
    checkPreflight({
      setup: { web: { image: { status: 404, body: '{"errors":[]}' } } },
      logs: /image .*: not known whether it exists \(it answers 404\)/,
    }));

  test("an Image Factory whose server does not know the path", () =>
    checkPreflight({
      setup: { web: { image: { status: 404, body: "404 page not found\n" } } },
      logs: /image .*: not known whether it exists \(it answers 404\)/,
    }));

  test("a registry that asks for credentials", () =>
    checkPreflight({
      setup: { web: { image: { status: 401, body: "" } } },
      logs: /image .*: not known whether it exists \(it answers 401\)/,
    }));

  test("a Kubernetes API that is down if the update drains no machine", () =>
    checkPreflight({
      setup: {
        drain: false,
        nodes: new CallError("unreachable", "Kubernetes: nodes: ECONNREFUSED"),
      },
      logs: /no answer within 3m .*; the update drains no machine, so it goes on/,
    }));

  test("a user that may not list nodes", () =>
    checkPreflight({
      setup: {
        nodes: new CallError(
          "refused",
          'Kubernetes: nodes: nodes is forbidden: User "x" cannot list',
        ),
      },
      logs: /the request failed, so the checks of the cluster are skipped \(.*forbidden/,
    }));

  test("a machine that is down", () =>
    checkPreflight({
      setup: { machine: { isDown: true } },
      logs: /gpu-1: not known what the upgrade would remove from the machine/,
    }));

  test("a kubeconfig with a proxy's CA if the machine has no node yet", () =>
    checkPreflight({
      setup: { nodes: [foreignNode], authority: base64("proxy") },
      logs: /not known whether talosconfig and kubeconfig belong to one cluster/,
    }));

  test("a machine whose renamed node is listed under both names", () =>
    checkPreflight({ setup: { nodes: [node({ name: "old" }), node()] } }));

  test("a machine that has booted since its node reported", () =>
    checkPreflight({ setup: { nodes: [node({ bootId: "boot-0" }), foreignNode] } }));

  test("nodes that report no boot", () =>
    checkPreflight({
      setup: { nodes: [node({ bootId: "" }), node({ name: "gpu-2", bootId: "" })] },
    }));

  test("a namespace of this stack", () =>
    checkPreflight({
      setup: { namespaceOwners: { "gpu-operator": "shop/prod/gpu-namespace 6f1c" } },
    }));

  test("an owned machine that gets a new node name, with a warning that its old node is not drained", () =>
    checkPreflight({
      setup: { machines: [{ configuration: "owned" }], nodes: [node({ name: "talos-abc-123" })] },
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
  const machines: PreflightSetup["machines"] = [{ driverFieldsFromCard: ["branch", "flavour"] }];
  await checkPreflight({
    setup: { machine, machines },
    findings: [/^machines\.gpu-1\.driver: .*lts/],
  });
  await checkPreflight({ setup: { machine } });
  await checkPreflight({
    setup: { machineHash: "2", machine: { ...machine, schematicId: schematics.other }, machines },
    installedBefore: [schematics.other],
  });
});

describe("a later preflight", () => {
  test("accepts an unchanged machine without asking it", () =>
    checkPreflight({
      setup: { machine: machineWithExtension },
      installedBefore: [schematics.other],
    }));

  test("accepts the loss of parts that the stack itself installed", () =>
    checkPreflight({
      setup: {
        machineHash: "2",
        machine: { ...machineWithExtension, schematicId: schematics.other },
      },
      installedBefore: [schematics.other],
    }));

  test("refuses the loss of parts that the stack did not install", () =>
    checkPreflight({
      setup: { machineHash: "2", machine: machineWithExtension },
      installedBefore: [schematics.other],
      findings: [namesLostExtension],
    }));

  test("asks a machine again after a change of its address", () =>
    checkPreflight({
      setup: { machines: [{ address: "10.0.0.2" }], nodes: [node({ name: "gpu-2" })] },
      installedBefore: [schematics.gpu],
      findings: [/^machines\.gpu-1\.address: the machine at 10\.0\.0\.2 is node gpu-2/],
    }));

  test("refuses a new machine at the address of a machine that leaves in the same update", () =>
    checkPreflight({
      setup: { machines: [{ machine: "gpu-2" }], nodes: [] },
      installedBefore: [schematics.gpu],
      findings: [/10\.0\.0\.1 belongs to the machine gpu-1, which this update removes/],
    }));

  test("refuses to change a machine from adopted to owned in one update", () =>
    checkPreflight({
      setup: { machines: [{ configuration: "owned" }] },
      installedBefore: [schematics.gpu],
      findings: [/changes from adopted to owned/],
    }));
});

describe("a node that a failed update has left cordoned", () => {
  const cordonedNode = nodeState({
    unschedulable: true,
    annotations: { "talos-gpu/cordoned-by": "talos-gpu" },
  });
  test("gets a warning if the stack's machine has changed", () =>
    checkPreflight({
      setup: { machineHash: "2", nodeState: cordonedNode },
      installedBefore: [schematics.gpu],
      warnings: [
        /^warning: gpu-1: an earlier update did not finish: node gpu-1 is still cordoned.*change `reconcileToken`/,
      ],
    }));

  test("gets a warning if a part of Kubernetes fails since a change without a reboot", () =>
    checkPreflight({
      setup: {
        machineHash: "2",
        machine: {
          secondsUntilReady: Infinity,
          unmetConditions: ["services: kubelet not running, ext-iscsid not running"],
        },
      },
      installedBefore: [schematics.gpu],
      warnings: [/^warning: gpu-1: kubelet not running\. If an earlier.*change `reconcileToken`/],
    }));

  test("gets no warning if the stack's machine is unchanged", () =>
    checkPreflight({
      setup: { nodeState: cordonedNode },
      installedBefore: [schematics.gpu],
      warnings: [],
    }));

  test("gets no warning if the machine is new to the stack", () =>
    checkPreflight({ setup: { nodeState: cordonedNode }, warnings: [] }));

  test("gets no warning if the user cordoned it", () =>
    checkPreflight({
      setup: { machineHash: "2", nodeState: { ...cordonedNode, annotations: {} } },
      installedBefore: [schematics.gpu],
      warnings: [],
    }));

  test("gets no warning if it is no longer cordoned", () =>
    checkPreflight({
      setup: { machineHash: "2", nodeState: { ...cordonedNode, unschedulable: false } },
      installedBefore: [schematics.gpu],
      warnings: [],
    }));
});

describe("the volume of a workload", () => {
  const volume = newVolume;
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
    checkPreflight({
      setup: { volumes: [fastVolume], claims: [claimOfSlow] },
      findings: [
        [
          /^workloads\.ollama\.storageClass: is fast, but claim ollama\/ollama-models /,
          /ollama-models was created with slow; .*; write slow\. /,
        ],
      ],
    }));

  test("is refused if storageClass is new in the stack, even if the cluster chose the same class", () =>
    checkPreflight({
      setup: { volumes: [slowVolume], claims: [claimOfDefault] },
      findings: [
        /storageClass: is slow, but .* was created with the cluster's default, slow; .*; remove storageClass\. /,
      ],
    }));

  test("is refused if the stack no longer sets storageClass", () =>
    checkPreflight({
      setup: { volumes: [volume], claims: [claimOfSlow] },
      findings: [/storageClass: is not set, but .* was created with slow; .*; write slow\. /],
    }));

  test("is refused if its workload moves to another namespace", () =>
    checkPreflight({
      setup: { volumes: [volumeInAi], claims: [claimOfDefault] },
      findings: [
        [
          /^workloads\.ollama\.namespace: is ai, but the workload's volume is in ollama; /,
          /volume is in ollama; .*would delete claim .* with its data.*; write ollama\. /,
        ],
      ],
    }));

  test("is accepted if the stack is unchanged", () =>
    checkPreflight({ setup: { volumes: [volume], claims: [claimOfDefault] } }));

  test("is accepted if storageClass is the class of its claim", () =>
    checkPreflight({ setup: { volumes: [slowVolume], claims: [claimOfSlow] } }));

  test("is accepted if its claim belongs to another stack", () =>
    checkPreflight({
      setup: { volumes: [volumeInAi], claims: [{ ...claimOfDefault, owner: "shop/test/x 1" }] },
    }));

  test("is accepted if it has no claim yet", () =>
    checkPreflight({ setup: { volumes: [volume], claims: [] } }));

  test("is accepted if its claim belongs to another cluster of the same stack", () =>
    checkPreflight({
      setup: {
        volumes: [volumeInAi],
        claims: [{ ...claimOfDefault, owner: "shop/prod/other-ollama-models 6f1c" }],
      },
    }));

  test("is accepted if its workload is removed", () =>
    checkPreflight({ setup: { volumes: [], claims: [claimOfDefault] } }));

  const classNotDefault = { classes: [{ name: "slow", isDefault: false }] };
  const noStorage = { classes: [], classesOfFreeVolumes: [] };
  test.each<[string, PreflightTask["volumes"][number], Partial<Storage>, RegExp[]]>([
    [
      "there is no StorageClass",
      volume,
      {},
      [
        /^warning: workloads\.ollama: nothing .* claim ollama\/ollama-models: it has no StorageClass; /,
        /; until something does, its pod stays Pending, .*; install a provisioner, /,
      ],
    ],
    [
      "no StorageClass is the default",
      volume,
      classNotDefault,
      [
        /none of its StorageClasses \(slow\) is the default; .*; set workloads\.ollama\.storageClass to/,
      ],
    ],
    [
      "its StorageClass does not exist",
      fastVolume,
      classNotDefault,
      [
        /it has no StorageClass fast \(but slow\); .*; create StorageClass fast, or change workloads/,
      ],
    ],
    [
      "all free volumes have another class",
      volume,
      { classesOfFreeVolumes: ["fast"] },
      [/it has no StorageClass; /],
    ],
  ])("brings a warning if it is new and %s", (_, volumeOfCase, storage, warning) =>
    checkPreflight({
      setup: { volumes: [volumeOfCase], claims: [], storage: { ...noStorage, ...storage } },
      warnings: [warning],
    }),
  );

  test.each<[string, PreflightTask["volumes"][number], Storage | undefined]>([
    ["its StorageClass exists", slowVolume, { ...noStorage, ...classNotDefault }],
    ["a free volume has its class", fastVolume, { ...noStorage, classesOfFreeVolumes: ["fast"] }],
    ["a free volume has no class either", volume, { ...noStorage, classesOfFreeVolumes: [""] }],
    ["the credentials may not list StorageClasses", volume, undefined],
  ])("brings no warning if it is new and %s", (_, volumeOfCase, storage) =>
    checkPreflight({ setup: { volumes: [volumeOfCase], claims: [], storage } }),
  );

  test("brings no warning if it has a claim already", () =>
    checkPreflight({ setup: { volumes: [volume], claims: [claimOfDefault], storage: noStorage } }));
});

test("a preflight without findings changes no machine, and its answer has the earlier images", async () => {
  const { outcome, machine } = await runPreflight();
  expect(outcome).toEqual({ ...earlierResult([schematics.gpu]), sameClusterHash: credentialsHash });
  expect(machine.calls).toEqual([]);
  const secondRun = await runPreflight({}, earlierResult([schematics.other]));
  expect(secondRun.outcome).toEqual({
    ...earlierResult([schematics.gpu, schematics.other]),
    sameClusterHash: credentialsHash,
  });
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
    const { outcome } = await runPreflight({
      machines: [{ talosVersion, image }],
      machine: { active, talosVersion: "v1.14.6" },
    });
    const servicePattern =
      /^machines\.gpu-1: the machine's configuration: has an ExtensionServiceConfig for multipathd.*EtcFileConfig/;
    const matchingFindings = (Array.isArray(outcome) ? outcome : []).filter((finding) =>
      servicePattern.test(finding),
    );
    expect(matchingFindings).toHaveLength(isRefused ? 1 : 0);
  },
);

test("the preflight checks only once, until a change, that the credentials belong to one cluster", async () => {
  const { outcome } = await runPreflight();
  const machine = { bootId: failsWith("refused", "requested again") };
  expect((await runPreflight({ machine }, outcome)).outcome).toEqual(outcome);
  expect(
    (await runPreflight({ machine, authority: "another" }, outcome)).outcome,
  ).not.toHaveProperty("sameClusterHash");
});

test("in a mirror, a repository's folder has the repository's address as its path", async () => {
  const mirror = "http://127.0.0.1:1";
  const answers = {
    [`${mirror}/charts.example/nvidia/index.yaml`]: { status: 200, body: repositoryIndex },
    [`${mirror}/charts.example/nvidia/${chartArchive}`]: { status: 200, body: "" },
  };
  const { outcome, requestedUrls } = await runPreflight({
    webByUrl: answers,
    environment: { TALOS_GPU_CHARTS: `${mirror}/` },
  });
  expect(outcome).toHaveProperty("machines");
  expect(requestedUrls).toContain(`${mirror}/charts.example/nvidia/index.yaml`);
});

test("the preflight reports the reason of a wait once, and again when it changes", async () => {
  const { lines, outcome } = await runPreflight({
    nodeErrors: ["ECONNREFUSED", "ECONNREFUSED", "no route to host"],
  });
  expect(outcome).toHaveProperty("machines");
  const linePrefix = "waits up to 3m for the Kubernetes API at https://10.0.0.9:6443:";
  expect(lines.filter((line) => line.startsWith("waits"))).toEqual([
    `${linePrefix} ECONNREFUSED`,
    `${linePrefix} no route to host`,
  ]);
});
