import * as path from "node:path";
import { parse, stringify } from "yaml";
import type { FileFinding } from "../../../cli/check/judge-files";
import { check } from "../../../cli/check/verb";
import { importFiles } from "../../../cli/import/verb";
import { repositoryFactory, runVerb } from "../support";

const makeRepository = repositoryFactory();

const schematic = (...extensions: string[]): string =>
  stringify({ customization: { systemExtensions: { officialExtensions: extensions } } });
const productionExtensions = [
  "siderolabs/nvidia-container-toolkit-production",
  "siderolabs/nvidia-open-gpu-kernel-modules-production",
];

/** A topf.yaml with a control plane and a machine with a GPU, and these further fields. */
const topf = (node: object = {}, fields: object = {}): string =>
  stringify({
    clusterName: "home",
    clusterEndpoint: "https://192.0.2.1:6443",
    kubernetesVersion: "1.35.0",
    talosVersion: "1.13.6",
    schematicId: "@schematic.yaml",
    ...fields,
    nodes: [
      { host: "cp-1", ip: "192.0.2.1", role: "control-plane" },
      { host: "gpu-1", ip: "192.0.2.7", role: "worker", ...node },
    ],
  });

async function importTopf(files: Record<string, string>, ...argv: string[]) {
  const folder = makeRepository(files);
  const { status, stdout, stderr, remarks } = await runVerb("import", importFiles, [
    folder,
    "--gpu=gpu-1=L4",
    ...argv,
  ]);
  const config = (parse(stdout) as { config: Record<string, unknown> }).config;
  return { status, config, stderr, remarks };
}

const commonFiles = { "schematic.yaml": schematic("siderolabs/zfs") };

describe("import of a topf.yaml", () => {
  test("reads hosts, addresses, roles, release and schematics", async () => {
    const gpu = { schematicId: "@schematics/gpu.yaml", secureboot: true, platform: "nocloud" };
    const { config, remarks, status } = await importTopf({
      "topf.yaml": topf(gpu, { factory: "factory.example.com" }),
      ...commonFiles,
      "schematics/gpu.yaml": schematic("siderolabs/zfs", ...productionExtensions),
    });
    expect(config["talos-gpu:machines"]).toEqual({
      "gpu-1": {
        address: "192.0.2.7",
        role: "worker",
        configuration: "adopted",
        gpus: [{ model: "L4" }],
        extensions: ["siderolabs/zfs"],
        platform: "nocloud",
        secureBoot: true,
      },
    });
    expect(config).toMatchObject({
      "talos-gpu:talosVersion": "v1.13.6",
      "talos-gpu:factoryUrl": "https://factory.example.com",
      "talos-gpu:driver": { branch: "production", flavour: "open" },
    });
    expect(remarks).toContainEqual(expect.stringMatching(/^Not in the stack.*: cp-1/));
    expect(status).toBe(1);
  });

  test("reads the machine's patches for all nodes, its role and itself, with rendered templates", async () => {
    const { config, status } = await importTopf({
      "topf.yaml": topf({ data: { modules: ["nvidia", "nvidia_uvm"] } }, { data: { zone: "a" } }),
      ...commonFiles,
      "all/10-name.yaml.tpl":
        "apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: {{ .Node.Host }}\n",
      "all/20-labels.yaml.tpl":
        "machine: { nodeLabels: { zone: '{{ .Data.zone }}', role: '{{ .Node.Role }}' } }\n",
      "worker/modules.yaml.tpl":
        "machine:\n  kernel:\n    modules:\n{{- range .Node.Data.modules }}\n      - name: {{ . }}\n{{- end }}\n",
      "node/gpu-1/taints.yaml": "machine: { nodeTaints: { gpu: ':NoSchedule' } }\n",
      "node/cp-1/other.yaml": "machine: { nodeLabels: { not: mine } }\n",
      "secrets.yaml": "cluster: {}\n",
    });
    expect(config["talos-gpu:machines"]).toEqual({
      "gpu-1": expect.objectContaining({
        labels: { zone: "a", role: "worker" },
        taints: { gpu: ":NoSchedule" },
        extensions: ["siderolabs/zfs"],
      }) as unknown,
    });
    expect(status).toBe(0);
  });

  test("writes the host name for a missing or SOPS-encrypted address, with a note", async () => {
    const { config, stderr } = await importTopf({
      "topf.yaml": topf({ ip: "ENC[AES256_GCM,data:a]" }),
      ...commonFiles,
    });
    expect(config["talos-gpu:machines"]).toMatchObject({ "gpu-1": { address: "gpu-1" } });
    expect(stderr).toMatch(
      /machines\.gpu-1\.address: is missing in the file, so the stack uses the name gpu-1/,
    );
    const withoutAddress = await importTopf({
      "topf.yaml": topf({ ip: undefined }),
      ...commonFiles,
    });
    // topf itself uses the host name as the address.
    expect(withoutAddress.config["talos-gpu:machines"]).toMatchObject({
      "gpu-1": { address: "gpu-1" },
    });
    expect(withoutAddress.stderr).not.toContain("machines.gpu-1.address");
  });

  test("reads the installer image in a patch, and its release", async () => {
    const { config } = await importTopf({
      "topf.yaml": topf({}, { talosVersion: undefined, schematicId: undefined }),
      "all/install.yaml": "machine: { install: { image: 'registry.example.com/talos:v1.12.6' } }\n",
    });
    expect(config).toMatchObject({
      "talos-gpu:talosVersion": "v1.12.6",
      "talos-gpu:machines": { "gpu-1": { installerImage: "registry.example.com/talos:v1.12.6" } },
    });
  });

  test.each<[string, Record<string, string>, RegExp]>([
    [
      "a template with a variable of the environment",
      { "all/a.yaml.tpl": '{{ env "MIRROR" }}' },
      /refers to \S*all\/a\.yaml\.tpl, which cannot be read \(it is a template, and the environment variable MIRROR .*run `topf render -o FOLDER`/,
    ],
    [
      "a template with a missing value",
      { "all/a.yaml.tpl": "a: {{ .Node.Data.b }}" },
      /\(it is a template, and \.Node\.Data\.b is missing\)/,
    ],
    [
      "a patch that SOPS encrypted as a whole",
      { "all/a.yaml": '{"data":"ENC[AES256_GCM,data:a]","sops":{"mac":"ENC[AES256_GCM,data:b]"}}' },
      /SOPS has encrypted the whole file/,
    ],
    [
      "a missing schematic",
      { "topf.yaml": topf({ schematicId: "@gpu.yaml" }) },
      /schematicId refers to \S*gpu\.yaml, which does not exist/,
    ],
    [
      "a program as nodesProvider",
      { "topf.yaml": topf({}, { nodesProvider: "./nodes" }) },
      /nodesProvider refers to \S*nodes, which cannot be read \(it is a program/,
    ],
    [
      "two Talos releases",
      { "topf.yaml": topf({ talosVersion: "v1.12.6" }) },
      /^talosVersion: has several values \(v1\.13\.6, v1\.12\.6\)/m,
    ],
  ])("reports %s, and imports the machine nevertheless", async (_, files, message) => {
    const { config, remarks, status } = await importTopf({
      "topf.yaml": topf(),
      ...commonFiles,
      ...files,
    });
    expect(config["talos-gpu:machines"]).toHaveProperty("gpu-1");
    expect(remarks.join("\n")).toMatch(message);
    expect(status).toBe(1);
  });

  test("reads no file outside of the project", async () => {
    const outside = makeRepository({ "s3cr3t.yaml": "machine: { nodeLabels: { s3: cr3t } }\n" });
    const { config, stderr } = await importTopf({
      "topf.yaml": topf(
        { schematicId: `@${outside}/s3cr3t.yaml` },
        { patchesDir: path.dirname(outside) },
      ).replace("role: worker", `role: ${path.basename(outside)}`),
      ...commonFiles,
    });
    expect(JSON.stringify(config)).not.toContain("cr3t");
    expect(stderr).toMatch(/it is outside of/);
    expect(stderr).not.toMatch(/patches names/);
  });
});

describe("check of a topf.yaml", () => {
  async function checkTopf(files: Record<string, string>, ...argv: string[]) {
    const { status, stdout } = await runVerb("check", check, [
      makeRepository(files),
      "--json",
      ...argv,
    ]);
    const { findings, unread } = JSON.parse(stdout) as {
      findings: FileFinding[];
      unread: { file: string; problem: string }[];
    };
    return {
      status,
      unread,
      problems: findings.map(
        ({ file, line, problem, talos }) =>
          `${path.basename(file)}:${line} ${problem} (${talos.join()})`,
      ),
    };
  }

  test("reports faults of patches and templates once each, with their lines and the release", async () => {
    const { problems } = await checkTopf({
      "topf.yaml": topf(),
      ...commonFiles,
      "all/a.yaml.tpl": "{{- if .Node.IP }}\nmachine:\n  sysctl: {}\n{{- end }}\n",
      "worker/b.yaml": "machine:\n  nodeLabel: { a: b }\n",
    });
    expect(problems).toEqual([
      expect.stringMatching(/^a\.yaml\.tpl:3 machine\.sysctl is not a field.*\(v1\.13\.6\)$/),
      expect.stringMatching(/^b\.yaml:2 machine\.nodeLabel is not a field.*\(v1\.13\.6\)$/),
    ]);
  });

  test("reports nothing about SOPS-encrypted values, also if a template uses them", async () => {
    const secret = "ENC[AES256_GCM,data:a,iv:b,tag:c,type:str]";
    const { problems, unread, status } = await checkTopf({
      "topf.yaml": topf({ ip: secret }, { data: { dns: [secret], gateway: secret } }),
      ...commonFiles,
      "all/a.yaml.tpl":
        "machine:\n  network:\n    nameservers:\n{{- range .Data.dns }}\n      - {{ . }}\n{{- end }}\n---\napiVersion: v1alpha1\nkind: LinkConfig\nname: eth0\nroutes:\n  - gateway: {{ .Data.gateway }}\n",
      "all/b.yaml": `apiVersion: v1alpha1\nkind: HostnameConfig\nhostname: ${secret}\nsops: { mac: "${secret}", age: [] }\n`,
    });
    expect({ problems, unread, status }).toEqual({ problems: [], unread: [], status: 0 });
  });
});
