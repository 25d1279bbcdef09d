import type { SecretFiles } from "../../../components/clients/secret-files";
import { CallError } from "../../../components/clients/failure";
import { isStaged } from "../../../components/clients/talos/configuration-text";
import { TalosMachine } from "../../../components/clients/talos/talos-machine";
import type { Talosctl } from "../../../components/clients/talos/talosctl";

/** Output in the form of talosctl v1.13 (cmd/talosctl/cmd/talos/etcd.go). */
const outputs: Record<string, string> = {
  "etcd members": [
    "NODE       ID                 HOSTNAME   PEER URLS                                        CLIENT URLS              LEARNER",
    "10.0.0.1   4d5a3b2c1f0e9d8c   cp-1       https://10.0.0.1:2380,https://[fd00::1]:2380     https://10.0.0.1:2379    false",
    "10.0.0.1   84f1e2d3c4b5a697              https://10.0.0.2:2380                                                     true",
  ].join("\n"),
  "etcd status": [
    "NODE       MEMBER             DB SIZE   IN USE           LEADER             RAFT INDEX   ERRORS",
    "10.0.0.1   4d5a3b2c1f0e9d8c   20 MB     10 MB (50.00%)   4d5a3b2c1f0e9d8c   1000         ",
  ].join("\n"),
};

function createMachine() {
  const nodes: string[] = [];
  const talosctl = {
    run: async (args: readonly string[]) => (
      nodes.push(args.at(-1)!),
      outputs[args.slice(0, 2).join(" ")]!
    ),
  };
  return {
    nodes,
    machine: new TalosMachine(talosctl as unknown as Talosctl, "10.0.0.1", {} as SecretFiles),
  };
}

test("an etcd member has all its URLs, and only its peer URLs before it starts", async () => {
  expect(await createMachine().machine.etcdMembers()).toEqual([
    {
      id: "4d5a3b2c1f0e9d8c",
      hostname: "cp-1",
      learner: false,
      urls: ["https://10.0.0.1:2380", "https://[fd00::1]:2380", "https://10.0.0.1:2379"],
    },
    { id: "84f1e2d3c4b5a697", hostname: "", learner: true, urls: ["https://10.0.0.2:2380"] },
  ]);
});

// The output of talosctl v1.14.1 for a machine whose containerd waits (cmd/talosctl/cmd/talos/service.go).
test.each([
  [
    "cri",
    { state: "Waiting", failing: true, event: 'Waiting for service "sandboxd" to be registered' },
  ],
  ["apid", { state: "Running", failing: false, event: "Health check successful" }],
])("the service %s is read with its health and its last event", async (name, service) => {
  expect(await machineWithServices().service(name)).toEqual(service);
});

test("a service that Talos does not list is unknown", async () => {
  expect(await machineWithServices().service("sandboxd")).toBeUndefined();
});

/** A machine whose containerd waits. */
function machineWithServices(): TalosMachine {
  const run = (): Promise<string> =>
    Promise.resolve(
      [
        "NODE       SERVICE   STATE     HEALTH   LAST CHANGE   LAST EVENT",
        "10.0.0.1   apid      Running   OK       4m51s ago     Health check successful",
        '10.0.0.1   cri       Waiting   Fail     52s ago       Waiting for service "sandboxd" to be registered',
      ].join("\n"),
    );
  return new TalosMachine({ run } as unknown as Talosctl, "10.0.0.1", {} as SecretFiles);
}

test("a machine's own etcd member is the member in its etcd status", async () => {
  expect(await createMachine().machine.etcdMember()).toBe("4d5a3b2c1f0e9d8c");
});

test.each([
  [6, true],
  ["0x06", true],
  [9, false],
])("META's key %p means that an upgrade is unconfirmed: %s", async (id, isUnconfirmed) => {
  const run = (): Promise<string> =>
    Promise.resolve(
      JSON.stringify({ metadata: { id }, spec: { value: "Talos-v1.13.0.efi" } }, null, 4),
    );
  const machine = new TalosMachine({ run } as unknown as Talosctl, "10.0.0.1", {} as SecretFiles);
  expect(await machine.isUnconfirmed()).toBe(isUnconfirmed);
});

const header = "NODE       IMAGE   DIGEST        SIZE     LABELS   CREATED";
const row = (image: string) =>
  `10.0.0.1   ${image}     sha256:aaaa   147 MB            2026-11-25T20:44:03Z`;
test.each<[string, boolean, string | CallError]>([
  ["a list with the installer", true, `${header}\n${row("a:1")}`],
  ["a list of other images", false, `${header}\n${row("a:2")}`],
  ["no text", false, ""],
  [
    "the error that Talos has no such call",
    false,
    new CallError("unimplemented", "code = Unimplemented"),
  ],
])("if talosctl prints %s, the installer counts as pulled: %s", async (_, isPulled, answer) => {
  const run = () => (answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer));
  const machine = new TalosMachine({ run } as unknown as Talosctl, "10.0.0.1", {} as SecretFiles);
  expect(await machine.hasPulled("a:1")).toBe(isPulled);
});

test("images of pods are listed and pulled in the namespace cri", async () => {
  const lines: string[] = [];
  const run = async (args: readonly string[]) => (lines.push(args.join(" ")), "");
  const machine = new TalosMachine({ run } as unknown as Talosctl, "10.0.0.1", {} as SecretFiles);
  await machine.hasPulled("a:1", "pods");
  await machine.pull("a:1", "pods", 1000);
  expect(lines).toEqual([
    "image list --namespace cri --nodes 10.0.0.1",
    "image pull a:1 --namespace cri --nodes 10.0.0.1",
  ]);
});

// In the form of talosctl v1.13 (`get staticpodstatuses -o json`): the status of each static pod, as the kubelet has it.
test("static pods are read with their image and readiness", async () => {
  const pod = (name: string, ready: string) => ({
    metadata: { type: "StaticPodStatuses.kubernetes.talos.dev", id: `kube-system/${name}-cp-1` },
    spec: {
      conditions: [
        { type: "Initialized", status: "True" },
        { type: "Ready", status: ready },
      ],
      containerStatuses: [{ name, image: `registry.k8s.io/${name}:v1.36.0`, ready: true }],
    },
  });
  const pending = { metadata: { id: "kube-system/x" }, spec: { phase: "Pending" } };
  const texts = [pod("kube-apiserver", "True"), pod("kube-scheduler", "False"), pending];
  const run = (args: readonly string[]): Promise<string> =>
    Promise.resolve(
      args[1] === "staticpodstatuses"
        ? texts.map((text) => `${JSON.stringify(text, null, 4)}\n`).join("")
        : "",
    );
  const machine = new TalosMachine({ run } as unknown as Talosctl, "10.0.0.1", {} as SecretFiles);
  expect(await machine.staticPods()).toEqual([
    { name: "kube-apiserver", image: "registry.k8s.io/kube-apiserver:v1.36.0", ready: true },
    { name: "kube-scheduler", image: "registry.k8s.io/kube-scheduler:v1.36.0", ready: false },
  ]);
});

test("an upgrade uses the installer from the namespace into which it was pulled", async () => {
  const lines: string[] = [];
  const run = async (args: readonly string[]) => (lines.push(args.join(" ")), "");
  const talosctl = { run, version: () => Promise.resolve("1.13.0") } as unknown as Talosctl;
  const machine = new TalosMachine(talosctl, "10.0.0.1", {} as SecretFiles);
  for (const place of ["disk", "memory"] as const) {
    await machine.pull("a:1", place, 1000);
    await machine.upgrade("a:1", place, "lifecycle", 1000);
  }
  expect(lines.map((line) => /--namespace (\w+)/.exec(line)?.[1])).toEqual([
    "system",
    undefined,
    "inmem",
    "inmem",
  ]);
});

test("`at` returns the machine at another address, which the same talosctl calls", async () => {
  const { nodes, machine } = createMachine();
  expect(await machine.at("10.0.0.2").etcdProblems()).toEqual([]);
  expect(nodes).toEqual(["10.0.0.2"]);
});

describe("the configurations of a machine", () => {
  /** Answers of a machine: resources by ID, and files. */
  const machineWithResources = (
    resources: Record<string, string>,
    files: Record<string, string> = {},
  ): TalosMachine => {
    const texts = Object.entries(resources).map(([id, spec]) =>
      JSON.stringify({ metadata: { id }, spec }, null, 4),
    );
    const run = (args: readonly string[]): Promise<string> => {
      if (args.includes("machineconfig")) return Promise.resolve(`${texts.join("\n")}\n`);
      const file = files[args[args.indexOf("read") + 1] ?? ""];
      return file === undefined
        ? Promise.reject(new CallError("missing", "no such file or directory"))
        : Promise.resolve(file);
    };
    return new TalosMachine({ run } as unknown as Talosctl, "192.0.2.1", {} as SecretFiles);
  };
  const [active, stagedConfiguration] = ["version: v1alpha1\n", "version: v1alpha1\ndebug: true\n"];
  const configurationPath = "/system/state/config.yaml";

  test("the configuration of the next boot is read from a resource since Talos 1.10", async () => {
    const machine = machineWithResources(
      { v1alpha1: active, persistent: stagedConfiguration },
      { [configurationPath]: "never read" },
    );
    expect(await machine.configurations()).toEqual({ active, persistent: stagedConfiguration });
  });

  test("the configuration of the next boot is read from a file before Talos 1.10", async () => {
    const configurations = await machineWithResources(
      { v1alpha1: active },
      { [configurationPath]: stagedConfiguration },
    ).configurations();
    expect(configurations).toEqual({ active, persistent: stagedConfiguration });
    expect(isStaged(configurations)).toBe(true);
  });

  test("a machine with neither the resource `persistent` nor the file config.yaml has no configuration for the next boot", async () => {
    expect(await machineWithResources({ v1alpha1: active }).configurations()).toEqual({ active });
  });

  test("a machine without an active configuration has none for the next boot, even if it has the file", async () => {
    expect(
      await machineWithResources({}, { [configurationPath]: stagedConfiguration }).configurations(),
    ).toEqual({});
  });
});

/** A volume as `talosctl get discoveredvolumes -o json` prints it: since Talos 1.9 with underscores in its keys. */
const volume = (id: string, label: string, parent: string): object => ({
  metadata: { id },
  spec: { type: "partition", parent, partition_label: label },
});
const systemDisk = [
  volume("sda1", "EFI", "sda"),
  volume("sda5", "META", "sda"),
  volume("sda6", "STATE", "sda"),
];
const bootPartition = volume("sda3", "BOOT", "sda");
const bootOfTalos18 = { metadata: { id: "sda3" }, spec: { parent: "sda", partitionLabel: "BOOT" } };
const commandLineAfterKexec = "talos.platform=metal intel_iommu=on";
const commandLineFromPowerOn = `BOOT_IMAGE=/A/vmlinuz ${commandLineAfterKexec}`;

// talos v1.12.6, pkg/machinery/config/types/v1alpha1/v1alpha1_validation.go: extra kernel arguments are not supported
// with systemd-boot.
test.each<[string, string[], object[], string, string, platform?: string]>([
  ["GRUB", ["intel_iommu=on"], [...systemDisk, bootPartition], commandLineFromPowerOn, ""],
  [
    "GRUB after kexec",
    ["intel_iommu=on"],
    [...systemDisk, bootPartition],
    commandLineAfterKexec,
    "",
  ],
  [
    "GRUB in the form of Talos 1.8",
    ["intel_iommu=on"],
    [...systemDisk, bootOfTalos18],
    commandLineAfterKexec,
    "",
  ],
  ["GRUB on a disk without META", ["intel_iommu=on"], [bootPartition], commandLineAfterKexec, ""],
  [
    "GRUB and grubUseUKICmdline",
    [],
    [...systemDisk, bootPartition],
    commandLineFromPowerOn,
    "\n    grubUseUKICmdline: true",
  ],
  [
    "GRUB and grubUseUKICmdline on a cloud platform",
    [],
    [...systemDisk, bootPartition],
    commandLineFromPowerOn,
    "\n    grubUseUKICmdline: true",
    "nocloud",
  ],
  ["systemd-boot", [], systemDisk, commandLineAfterKexec, ""],
  [
    "a partition BOOT on another disk",
    [],
    [...systemDisk, volume("sdb1", "BOOT", "sdb")],
    commandLineAfterKexec,
    "",
  ],
])(
  "with %s, the machine boots with the configuration's kernel arguments %j",
  async (_, expectedArgs, volumes, commandLine, setting, platform = "metal") => {
    const spec = `machine:\n  install:\n    extraKernelArgs: [intel_iommu=on]${setting}\n`;
    const configuration = JSON.stringify({ metadata: { id: "v1alpha1" }, spec }, null, 4);
    const answers = {
      machineconfig: `${configuration}\n`,
      platformmetadata: JSON.stringify({ metadata: { id: "x" }, spec: { platform } }, null, 4),
      discoveredvolumes: volumes
        .map((resource) => `${JSON.stringify(resource, null, 4)}\n`)
        .join(""),
      "/proc/cmdline": commandLine,
      "/system/state/config.yaml": spec,
    };
    const run = (args: readonly string[]): Promise<string> =>
      Promise.resolve(
        Object.entries(answers).find(([argument]) => args.includes(argument))?.[1] ?? "",
      );
    const machine = new TalosMachine(
      { run } as unknown as Talosctl,
      "192.0.2.1",
      {} as SecretFiles,
    );
    const image = await machine.image();
    expect(image.configuredArgs).toEqual(expectedArgs);
    expect(image.bootArgs).toEqual(expectedArgs.length > 0 ? expectedArgs : undefined);
    expect(image.hasArgsConflict).toBe(setting !== "" && platform === "metal" ? true : undefined);
  },
);

test("volumes that only the TPM can open are read from the active configuration", async () => {
  const active =
    "apiVersion: v1alpha1\nkind: VolumeConfig\nname: EPHEMERAL\nencryption: {keys: [{slot: 0, tpm: {}}]}\n";
  const config = { metadata: { id: "v1alpha1" }, spec: active };
  const security = { spec: { secureBoot: true } };
  const answers: Record<string, unknown> = { machineconfig: config, securitystate: security };
  const run = (args: readonly string[]): Promise<string> => {
    const [, answer] = Object.entries(answers).find(([argument]) => args.includes(argument)) ?? [];
    return Promise.resolve(answer === undefined ? "" : JSON.stringify(answer, null, 4));
  };
  const machine = new TalosMachine({ run } as unknown as Talosctl, "192.0.2.1", {} as SecretFiles);
  expect(await machine.image()).toMatchObject({ secureBoot: true, tpmVolumes: ["EPHEMERAL"] });
});

// Both IDs are the Image Factory's, for the modules and the toolkit of the branch production, in both orders.
const [modules, toolkit] = [
  "siderolabs/nvidia-open-gpu-kernel-modules",
  "siderolabs/nvidia-container-toolkit",
].map((name) => `${name}-production`);
const unsortedId = "1deaeeb1ea2e7901c21c109368a7261f52dfd9a91e9d7eea83cfd0f0e1b7d488";
const sortedId = "6698d6f136c5bb37ca8bb8482c9084305084da0a5ead1f4dcae760796f8ab3a2";
const schematicText = `customization: {systemExtensions: {officialExtensions: [${modules}, ${toolkit}]}}`;
test.each([
  [
    "with its extensions in another order gets the ID of the sorted ones",
    unsortedId,
    schematicText,
    sortedId,
  ],
  ["without a content keeps its ID", unsortedId, "", unsortedId],
  [
    "with more than extensions keeps its ID",
    "c".repeat(64),
    `${schematicText}\nbootloader: grub`,
    "c".repeat(64),
  ],
])("a schematic %s", async (_, version, extraInfo, expectedId) => {
  const resource = { spec: { metadata: { name: "schematic", version, extraInfo } } };
  const run = (): Promise<string> => Promise.resolve(`${JSON.stringify(resource, null, 4)}\n`);
  const machine = new TalosMachine({ run } as unknown as Talosctl, "192.0.2.1", {} as SecretFiles);
  expect(await machine.schematic()).toBe(expectedId);
  expect(await machine.extensions()).toEqual({ names: [], schematic: version, image: expectedId });
});
