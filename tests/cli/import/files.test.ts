import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { schematicOf } from "../../../components/recipe/index";
import { idOf } from "../../../cli/import/schematics";
import { substitute } from "../../../cli/import/substitute";
import { importFiles } from "../../../cli/import/verb";
import { runVerb } from "../support";

const folder = path.join(__dirname, "../../fixtures/talhelper/home-ops");

async function runImport(...argv: string[]) {
  const { status, stdout, remarks } = await runVerb("import", importFiles, argv);
  const { config = {} } = (parse(stdout) ?? {}) as { config?: Record<string, any> };
  return { status, config, remarks };
}

const writeFile = (text: string, name = "gpu-1.yaml"): string => {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "import-")), name);
  fs.writeFileSync(file, text);
  return file;
};

test("a talconfig like the home-ops template's is imported without findings if --gpu names the cards", async () => {
  const talconfig = path.join(folder, "talconfig.yaml");
  const { status, config, remarks } = await runImport(
    talconfig,
    "--gpu",
    "k8s-1=RTX 3060",
    "--gpu",
    "k8s-2=RTX 3060",
  );
  expect(status).toBe(0);
  expect(remarks).toEqual([
    expect.stringMatching(/^gpuOperator: no file here/),
    expect.stringMatching(/^Not in the stack.*: k8s-0 \(/),
  ]);
  expect(config).toMatchObject({ "talos-gpu:talosVersion": "v1.13.6" });
  const commonFields = (branch: string) => ({
    configuration: "adopted",
    driver: { branch, flavour: "open" },
  });
  expect(config["talos-gpu:machines"]).toEqual({
    "k8s-1": {
      ...commonFields("production"),
      address: "192.0.2.11",
      role: "worker",
      gpus: [{ model: "RTX 3060" }],
      extensions: ["siderolabs/iscsi-tools"],
      taints: { gpu: "true:NoSchedule" },
    },
    "k8s-2": {
      ...commonFields("lts"),
      address: "192.0.2.12",
      role: "worker",
      gpus: [{ model: "RTX 3060" }],
      kernelArgs: ["pci=realloc"],
    },
  });
  expect((await runImport(talconfig)).status).toBe(1); // the user must name the cards
});

test("for a node with NVIDIA's modules but without --gpu, a note says to delete the machine if it has no card", async () => {
  const node = (hostname: string, index: number) => ({ hostname, ipAddress: `192.0.2.${index}` });
  const worker = { kernelModules: [{ name: "nvidia" }] };
  const text = stringify({
    talosVersion: "v1.13.6",
    nodes: [node("gpu", 1), node("plain", 2)],
    worker,
  });
  const { remarks } = await runImport(writeFile(text), "--gpu", "gpu=RTX 3060");
  expect(remarks).toContainEqual(
    expect.stringMatching(
      /^machines\.plain\.gpus: .*If the machine has no card, delete machines\.plain$/,
    ),
  );
});

test("a missing Talos version is requested, and --talos or --env-file sets it", async () => {
  const text = "talosVersion: ${version}\nnodes: [{hostname: gpu, ipAddress: 10.0.0.1}]\n";
  const withoutVersion = await runImport(writeFile(text), "--gpu", "gpu=RTX 3060");
  expect(withoutVersion.remarks).toEqual([
    expect.stringMatching(
      /^talosVersion: is \$\{version\}, a variable without a value .* --talos /,
    ),
    expect.stringMatching(/^devicePlugin: no file here/),
  ]);
  expect(withoutVersion.status).toBe(1);
  expect(withoutVersion.config).not.toHaveProperty(["talos-gpu:talosVersion"]);
  const withTalosOption = await runImport(
    writeFile(text),
    "--gpu",
    "gpu=RTX 3060",
    "--talos",
    "v1.13.6",
  );
  expect(withTalosOption.status).toBe(0);
  expect(withTalosOption.config["talos-gpu:talosVersion"]).toBe("v1.13.6");
  const envFile = writeFile("version: 1.12.6\n", "other.yaml");
  const withEnvFile = await runImport(
    writeFile(text),
    "--gpu",
    "gpu=RTX 3060",
    "--env-file",
    envFile,
  );
  expect(withEnvFile.config["talos-gpu:talosVersion"]).toBe("v1.12.6");
});

describe("a machine's configuration", () => {
  const schematic = {
    customization: {
      systemExtensions: { officialExtensions: ["siderolabs/nvidia-container-toolkit-lts"] },
    },
  };
  const machine = {
    type: "controlplane",
    token: "secret",
    install: { image: `factory.talos.dev/nocloud-installer/${idOf(schematic)}:v1.12.6` },
    kernel: { modules: [{ name: "nvidia" }] },
    nodeTaints: { gpu: "NoSchedule" },
  };
  const documents = (fields: object = {}) =>
    `${stringify({ version: "v1alpha1", machine: { ...machine, ...fields }, cluster: { token: "secret" } })}---\n` +
    stringify({ apiVersion: "v1alpha1", kind: "HostnameConfig", hostname: "gpu-1" });
  const expected = {
    "gpu-1": {
      address: "192.0.2.7",
      role: "controlplane",
      configuration: "adopted",
      gpus: [{ model: "RTX 3060" }],
      platform: "nocloud",
      taints: { gpu: ":NoSchedule" },
    },
  };
  const schematicFile = writeFile(
    `customization: {}\n---\n${stringify(schematic)}`,
    "schematic.yaml",
  );
  const args = ["--gpu=gpu-1=RTX 3060", "--talos=v1.12.6", `--schematic=${schematicFile}`];

  test("is read as talosctl prints it, with stored and running configuration", async () => {
    const resource = (id: string) =>
      stringify({
        node: "192.0.2.7",
        metadata: { type: "MachineConfigs.config.talos.dev", id },
        spec: documents(),
      });
    const { config, status } = await runImport(
      writeFile(`${resource("persistent")}---\n${resource("v1alpha1")}`),
      ...args,
    );
    expect(status).toBe(0);
    expect(config["talos-gpu:machines"]).toEqual(expected);
    expect(config["talos-gpu:driver"]).toEqual({ branch: "lts" });
  });

  test.each([
    ["talm renders it", `# talm: nodes=["192.0.2.7"], endpoints=["192.0.2.1"]\n${documents()}`],
    ["topf renders it", documents({ network: { interfaces: [{ addresses: ["192.0.2.7/24"] }] } })],
  ])("is read as %s, without its secrets", async (_, text) => {
    const { config, status } = await runImport(writeFile(text), ...args);
    expect(status).toBe(0);
    expect(config["talos-gpu:machines"]).toEqual(expected);
    expect(JSON.stringify(config)).not.toContain("secret");
  });

  test("is reported if it has no host name and no address", async () => {
    const { remarks, config } = await runImport(
      writeFile(stringify({ machine }), "node0.yaml"),
      "--gpu=node0=RTX 3060",
      `--schematic=${schematicFile}`,
    );
    expect(config["talos-gpu:talosVersion"]).toBe("v1.12.6");
    expect(remarks.map((text) => text.split("; ")[0])).toEqual([
      "talosVersion: is v1.12.6, as in machine.install.image",
      "machines.node0: is named after its file, because its configuration has no host name",
      "machines.node0.address: is missing in the file, so the stack uses the name node0 instead",
      expect.stringMatching(/^devicePlugin: no file here/),
    ]);
  });
});

// The rules are those of a8m/envsubst, parse/parse_test.go.
test.each([
  ["$$patch", "$patch"],
  ["$A ${A} ${B:-b} ${B-$A} ${A:+c} ${B}", "a a b a c ${B}"],
  ["100$ $, $", "100$ $, $"],
])("the variables in %j are filled in as %j", (text, expected) => {
  expect(substitute(text, { A: "a" })).toBe(expected);
});

test("a schematic's ID equals the Image Factory's for any order of fields", () => {
  const content = { extensions: ["siderolabs/zfs"], kernelArgs: ["-selinux", "a=b"] };
  const overlay = { name: "turingrk1", image: "siderolabs/sbc-rockchip" };
  const otherCustomization = {
    secureboot: { includeWellKnownCertificates: true },
    bootloader: "sd-boot",
  };
  const customization = {
    ...otherCustomization,
    systemExtensions: { officialExtensions: content.extensions },
    extraKernelArgs: content.kernelArgs,
  };
  expect(idOf({ customization, overlay })).toBe(
    schematicOf({ ...content, overlay, customization: otherCustomization }).id,
  );
});

describe("a release that Flux installs from the talconfig's repository", () => {
  const helmRelease = `kind: HelmRelease
metadata: { name: nvidia-device-plugin, namespace: gpu }
spec:
  chartRef: { kind: OCIRepository, name: nvidia-device-plugin }
  values: { runtimeClassName: nvidia, tolerations: [{ key: gpu, operator: Exists }] }
`;
  const ociRepository = `kind: OCIRepository
metadata: { name: nvidia-device-plugin }
spec: { url: "oci://ghcr.io/home-operations/charts-mirror/nvidia-device-plugin", ref: { tag: 0.19.3 } }
`;
  /** The HelmRelease with further values. */
  const withValues = (values: string): string => helmRelease.replace(/ }\n$/, `, ${values} }\n`);
  const files = ["apps/gpu/helmrelease.yaml", "apps/gpu/ocirepository.yaml"];

  let repository: string;
  const write = (file: string, text: string): void =>
    fs.writeFileSync(path.join(repository, file), text);

  beforeEach(() => {
    repository = fs.mkdtempSync(path.join(os.tmpdir(), "import-"));
    fs.cpSync(folder, path.join(repository, "talos"), { recursive: true });
    for (const name of [".git", "apps/gpu", "apps/other"])
      fs.mkdirSync(path.join(repository, name), { recursive: true });
    write("apps/gpu/helmrelease.yaml", helmRelease);
    write("apps/gpu/ocirepository.yaml", ociRepository);
    write("apps/other/a.yaml", "kind: ConfigMap\ndata: { a: gpu-operator }\n");
  });

  /** Imports the repository's talconfig. Without `--out` the stack is in no repository. */
  const importTalconfig = (...options: string[]) =>
    runImport(
      path.join(repository, "talos/talconfig.yaml"),
      "--gpu=k8s-1=RTX 3060",
      "--gpu=k8s-2=RTX 3060",
      ...options,
    );

  /** Imports the talconfig into a stack file of the same repository. */
  async function importIntoRepository() {
    const stackFile = path.join(repository, "stack.yaml");
    const { remarks } = await importTalconfig("--out", stackFile);
    const { config } = parse(fs.readFileSync(stackFile, "utf8")) as { config: Record<string, any> };
    return { config, remarks };
  }

  test("becomes the stack's `external`, which lists its files", async () => {
    const { config } = await importIntoRepository();
    expect(config["talos-gpu:external"]).toEqual({ files });
    expect(config).not.toHaveProperty(["talos-gpu:gpuOperator"]);
  });

  test("is not listed while the chart refuses one of its values, and a remark requests the correction", async () => {
    write("apps/gpu/helmrelease.yaml", withValues('gfd: { enabld: true }, failOnInitError: "no"'));
    const { config, remarks } = await importIntoRepository();
    expect(config["talos-gpu:external"]).toEqual({ kind: "devicePlugin", namespace: "gpu" });
    expect(remarks.filter((line) => line.startsWith("external"))).toEqual([
      expect.stringMatching(
        /failOnInitError must be true or false.*Then write the files under external\.files again: .*helmrelease\.yaml/,
      ),
    ]);
  });

  test("becomes `external` with its values if the stack is not in the repository", async () => {
    const { config, remarks } = await importTalconfig();
    expect(config["talos-gpu:external"]).toEqual({
      kind: "devicePlugin",
      version: "0.19.3",
      namespace: "gpu",
      values: { runtimeClassName: "nvidia", tolerations: [{ key: "gpu", operator: "Exists" }] },
    });
    expect(remarks.filter((line) => line.startsWith("external"))).toEqual([]);
  });

  test("is listed with a warning if a value has no effect", async () => {
    write("apps/gpu/helmrelease.yaml", withValues("gfd: { enabld: true }"));
    const { config, remarks } = await importIntoRepository();
    expect(config["talos-gpu:external"]).toMatchObject({ files });
    expect(remarks).toContainEqual(
      expect.stringMatching(/^warning: external\.values\.gfd\.enabld: .*does not have this value/),
    );
  });

  test("is not listed if the repository has two, because the files do not show the cluster of each", async () => {
    write("apps/gpu/second.yaml", helmRelease);
    const { config, remarks } = await importTalconfig();
    expect(config["talos-gpu:external"]).toEqual({ kind: "devicePlugin" });
    expect(remarks[0]).toMatch(
      /^external: .*second\.yaml install several of NVIDIA's charts, but do not show/,
    );
  });
});

test("a stack's machine has the node name that Talos derives from the host name", async () => {
  const nodes = [
    { hostname: "Gpu_1.home.arpa", ipAddress: "192.0.2.1" },
    {
      hostname: "b.home.arpa",
      ipAddress: "192.0.2.2",
      patches: ["machine:\n  kubelet:\n    registerWithFQDN: true\n"],
    },
  ];
  const text = stringify({ talosVersion: "v1.12.6", nodes });
  const { config } = await runImport(
    writeFile(text, "talconfig.yaml"),
    "--gpu",
    "gpu-1=L4",
    "--gpu",
    "b.home.arpa=L4",
  );
  expect(Object.keys(config["talos-gpu:machines"] as object)).toEqual(["gpu-1", "b.home.arpa"]);
});

test("a faulty containerd part is reported instead of being imported", async () => {
  const content = '[plugins."io.containerd.cri.v1.runtime"]\ndefault_runtime_name = "nvidia"\n';
  const file = { op: "create", path: "/etc/cri/conf.d/20-customization.part", content };
  const node = {
    hostname: "gpu",
    ipAddress: "192.0.2.1",
    patches: [stringify({ machine: { files: [file] } })],
  };
  const text = stringify({ talosVersion: "v1.13.6", nodes: [node] });
  const { config, remarks } = await runImport(writeFile(text, "talconfig.yaml"), "--gpu", "gpu=L4");
  expect(config["talos-gpu:machines"]).not.toHaveProperty("gpu.containerd");
  expect(remarks.filter((line) => line.startsWith("machines"))).toEqual([
    expect.stringMatching(/^machines\.gpu\.containerd: .*default_runtime_name is not a containerd/),
  ]);
});

test("a custom installer image is imported unchanged", async () => {
  const image = "registry.example.com/talos/installer";
  const node = {
    hostname: "gpu",
    ipAddress: "192.0.2.1",
    talosImageURL: image,
    machineSpec: { secureboot: true },
  };
  const text = stringify({ talosVersion: "v1.12.6", nodes: [node] });
  const { status, config } = await runImport(writeFile(text, "talconfig.yaml"), "--gpu", "gpu=L4");
  expect(status).toBe(0);
  expect(config["talos-gpu:machines"]).toEqual({
    gpu: expect.objectContaining({ installerImage: `${image}:v1.12.6` }) as unknown,
  });
  const digest = `${image}@sha256:${"a".repeat(64)}`;
  const machine = { type: "worker", install: { image: digest }, network: { hostname: "gpu" } };
  const withDigest = await runImport(
    writeFile(stringify({ machine })),
    "--gpu",
    "gpu=L4",
    "--talos",
    "v1.12.6",
  );
  expect(withDigest.config["talos-gpu:machines"]).toMatchObject({
    gpu: { installerImage: digest },
  });
  const tagged = { ...machine, install: { image: `${image}:v1.12.6-sysbox-1` } };
  const { config: configOfTag } = await runImport(
    writeFile(stringify({ machine: tagged })),
    "--gpu",
    "gpu=L4",
  );
  expect(configOfTag).toMatchObject({
    "talos-gpu:talosVersion": "v1.12.6",
    "talos-gpu:machines": { gpu: { installerImage: `${image}:v1.12.6-sysbox-1` } },
  });
});
