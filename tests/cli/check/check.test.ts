import * as fs from "node:fs";
import * as path from "node:path";
import { stripVTControlCharacters } from "node:util";
import { check } from "../../../cli/check/verb";
import { type FileFinding } from "../../../cli/check/judge-files";
import { runVerb } from "../support";
import { runCheck, folderWith } from "./support";

const home = path.join(__dirname, "../../fixtures/talhelper/home-ops");

test("a talconfig is checked together with its patches for its Talos release", async () => {
  const faultless = await runCheck(home);
  expect(faultless.status).toBe(0);
  expect(faultless.stdout).toBe("");
  expect(faultless.remarks).toEqual([
    expect.stringMatching(/^Nothing is wrong in\n {2}\S+admission\.yaml(?:\n {2}\S+){4}$/),
  ]);
  const folder = folderWith({
    "talconfig.yaml": fs.readFileSync(path.join(home, "talconfig.yaml"), "utf8"),
  });
  fs.cpSync(path.join(home, "patches"), path.join(folder, "patches"), { recursive: true });
  fs.writeFileSync(
    path.join(folder, "patches/nvidia.yaml"),
    "machine:\n  kernel:\n    module: []\n",
  );
  fs.writeFileSync(path.join(folder, "talenv.yaml"), "talosVersion: v1.12.6\n");
  const previousFolder = process.cwd();
  process.chdir(folder); // annotations of a pull request need paths relative to this folder
  const { status, stdout } = await runCheck(".").finally(() => process.chdir(previousFolder));
  expect(status).toBe(1);
  expect(stdout).toMatch(
    /^patches\/nvidia\.yaml:3: machine\.kernel\.module is not a field .* \(Talos v1\.12\.6\)\n$/,
  );
});

test("a file without a release is checked for the release and GPU provider of the files next to it", async () => {
  const part =
    'machine:\n  type: worker\n  install: { image: "factory.talos.dev/installer/x:v1.13.6" }\n  kernel: { modules: [{ name: nvidia }] }\n  files:\n' +
    "    - op: create\n      path: /etc/cri/conf.d/20-customization.part\n      content: |\n" +
    '        [plugins."io.containerd.cri.v1.runtime".containerd]\n          default_runtime_name = "nvidia"\n' +
    "sops:\n  mac: ENC[AES256_GCM,data:a]\n";
  const adviceFor = async (files: Record<string, string>) => {
    const { findings } = JSON.parse((await runCheck(folderWith(files), "--json")).stdout) as {
      findings: FileFinding[];
    };
    expect(findings.flatMap(({ talos }) => talos)).toEqual(findings.map(() => "v1.13.6"));
    const checks = findings.map((finding) => finding.check);
    const defaultRuntime = findings.find((finding) => finding.check === "default-runtime");
    return { checks, remedy: defaultRuntime?.remedy };
  };
  const withoutChart = await adviceFor({ "gpu.yaml": part });
  expect(withoutChart).toEqual({
    remedy: expect.stringMatching(/runtimeClassName: nvidia.*cdi-cri/),
    checks: ["default-runtime"],
  });
  const helmRelease =
    "kind: HelmRelease\nspec:\n  chart: { spec: { chart: gpu-operator, version: v26.3.3 } }\n  values: { driverr: {} }\n";
  const withChart = await adviceFor({ "gpu.yaml": part, "release.yaml": helmRelease });
  expect(withChart.remedy).toMatch(/by CDI, without runtimeClassName/);
  expect(withChart.checks).toContain("chart-values");
});

test("with --gpu, check reports a driver that does not support the card", async () => {
  const modules = "siderolabs/nvidia-open-gpu-kernel-modules-production";
  const toolkit = "siderolabs/nvidia-container-toolkit-production";
  const folder = folderWith({
    "a.yaml": `customization: {systemExtensions: {officialExtensions: [${modules}, ${toolkit}]}}`,
  });
  expect((await runCheck(folder, "--talos=v1.12.6")).stdout).toBe("");
  expect((await runCheck(folder, "--talos=v1.12.6", "--gpu=10de:1b06")).stdout).toMatch(
    /open kernel modules do not support the GTX 1080 Ti/,
  );
  const newest = await runCheck(folder, "--talos=v1.13.6", "--gpu=GTX 1080");
  expect(newest.stdout).toMatch(
    /the production driver .* is supported only up to branch 580; .*; use the extensions of branch lts/,
  );
  await expect(runCheck(folder, "--gpu=any")).rejects.toThrow("--gpu: any is not a known card");
});

test("a warning about a machine's card has its file in each format, and the exit status is 0", async () => {
  const text =
    "machine:\n  type: worker\n  kernel: { modules: [{ name: nvidia }, { name: vfio_pci, parameters: ['ids=10de:2204'] }] }\n";
  const folder = folderWith({ "gpu.yaml": text });
  const runForCard = (...options: string[]) =>
    runCheck(folder, "--gpu=RTX 3090", "--talos=v1.13.6", ...options);
  const { status, stdout } = await runForCard();
  expect(status).toBe(0);
  expect(stdout).toMatch(
    /^\S+gpu\.yaml:3: warning: a kernel argument or a patch binds every RTX 3090 .*10de:2204.*; remove this ID, or bind/,
  );
  expect((await runForCard("--format=github")).stdout).toMatch(/^::warning file=/);
  const sarif: unknown = JSON.parse((await runForCard("--format=sarif")).stdout);
  expect(sarif).toMatchObject({ runs: [{ results: [{ level: "warning" }] }] });
  const json: unknown = JSON.parse((await runForCard("--json")).stdout);
  expect(json).toMatchObject({ findings: [{ check: "card-passed-on", severity: "warning" }] });
  expect((await runCheck(folder, "--gpu=RTX 4090")).stdout).not.toMatch(/virtual machines/);
});

describe("a remedy uses fields of the file instead of a stack's, for", () => {
  const image = (names: string, kernelArgs = ""): string =>
    `customization: {extraKernelArgs: [${kernelArgs}], systemExtensions: {officialExtensions: [${names}]}}\n`;
  test.each([
    {
      name: "extensions of the install section",
      file: "machine: {install: {extensions: [{image: ghcr.io/siderolabs/iscsi-tools}]}}\n",
      remedy: "list them in the image's schematic (systemExtensions.officialExtensions)",
    },
    {
      name: "a parameter of a module",
      file: image("", "nvidia_drm.modeset=1"),
      remedy: "write it to machine.kernel.modules[].parameters: `nvidia_drm: ['modeset=1']`",
    },
    {
      name: "two branches",
      file: image(
        "siderolabs/nvidia-container-toolkit-lts, siderolabs/nvidia-open-gpu-kernel-modules-production",
      ),
      remedy: "use modules and toolkit of the same branch",
    },
    {
      name: "an extension of NVIDIA's that does not exist",
      file: image("siderolabs/nvidia-driver"),
      remedy:
        "leave it out, or name an official extension (the Image Factory lists them under /version/<release>/extensions/official)",
    },
    {
      name: "an extension that no Talos version has",
      file: image("siderolabs/my-own-thing"),
      remedy: /, or use your own Image Factory or installer image for an extension of your own$/,
    },
  ])("$name", async ({ file, remedy }) => {
    const { stdout } = await runCheck(
      folderWith({ "gpu.yaml": file }),
      "--talos=v1.13.6",
      "--json",
    );
    const { findings } = JSON.parse(stdout) as { findings: Record<string, unknown>[] };
    expect(findings).toMatchObject([
      { remedy: remedy instanceof RegExp ? expect.stringMatching(remedy) : remedy },
    ]);
    expect(findings[0]).not.toHaveProperty("ofFiles");
  });
});

test("findings and remarks print relative arguments as absolute paths", async () => {
  const folder = folderWith({
    "gpu.yaml": "machine:\n  sysctl: {}\n",
    "nvidia.yaml": "nvidia: [\n",
  });
  const relativePath = path.relative(process.cwd(), folder);
  expect(relativePath).toMatch(/^\.\./);
  const { stdout, stderr } = await runCheck(relativePath, `${relativePath}/./none.yaml`);
  expect(stdout).toMatch(new RegExp(`^${folder}/gpu\\.yaml:2: `));
  for (const name of ["nvidia", "none"]) expect(stderr).toContain(`${folder}/${name}.yaml: `);
  expect(stdout + stderr).not.toContain("../");
});

test("in a terminal a finding's place and problem have colours, and the text is the same", async () => {
  const folder = folderWith({ "gpu.yaml": "machine:\n  sysctl: {}\n" });
  const plain = await runCheck(folder);
  const coloured = await runVerb("check", check, [folder], {}, { colour: true, columns: 80 });
  expect(coloured.stdout).toContain(`\u001b[36m${folder}/gpu.yaml:2:\u001b[39m`);
  expect(coloured.stdout).toContain("\u001b[31mmachine.sysctl is not a field");
  expect(stripVTControlCharacters(coloured.stdout)).toBe(plain.stdout);
});

test("--format=github and --format=sarif print a finding with its file, line and check", async () => {
  const file = path.join(folderWith({ "a,b.yaml": "machine:\n  sysctl: {}\n" }), "a,b.yaml");
  expect((await runCheck(file, "--format=github")).stdout).toMatch(
    /^::error file=\S+a%2Cb\.yaml,line=2,title=patch-schema::machine\.sysctl is not a field [^\n]+\n$/,
  );
  const sarif = JSON.parse((await runCheck(file, "--format=sarif")).stdout) as { runs: unknown[] };
  expect(sarif).toMatchObject({
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "talos-gpu",
            rules: [
              {
                id: "patch-schema",
                shortDescription: {
                  text: "The Talos version accepts the fields and values of each patch.",
                },
              },
            ],
          },
        },
        results: [
          {
            ruleId: "patch-schema",
            locations: [
              { physicalLocation: { artifactLocation: { uri: file }, region: { startLine: 2 } } },
            ],
          },
        ],
      },
    ],
  });
});

test("unreadable files are reported only if they contain the word nvidia or are arguments", async () => {
  const long = (word: string): string =>
    `machine: { sysctl: { a: "${`${word} `.repeat(200_000)}" } }\n`;
  const folder = folderWith({
    "a.yaml": "nvidia: [\n",
    "b.yaml": "other: [\n",
    "long-nvidia.yaml": long("nvidia"),
    "long-other.yaml": long("others"),
  });
  const { stderr } = await runCheck(folder, path.join(folder, "none.yaml"));
  expect(stderr).toMatch(/none\.yaml: cannot be read \(ENOENT\)/);
  expect(stderr).toMatch(/a\.yaml: is not checked: it is not YAML/);
  expect(stderr).not.toContain("b.yaml");
  expect(stderr).toMatch(
    /long-nvidia\.yaml: is not checked: it has more than a million characters/,
  );
  expect(stderr).not.toContain("long-other.yaml");
});

test("the exit status is 1 if a file has findings and another cannot be read, and 2 if the only file cannot be read", async () => {
  const folder = folderWith({
    "faulty.yaml": "machine: {sysctl: {}}\n",
    "broken.yaml": "nvidia: [\n",
  });
  expect((await runCheck(folder)).status).toBe(1);
  expect((await runCheck(path.join(folder, "broken.yaml"))).status).toBe(2);
});

test("files in UTF-16 of either byte order are checked", async () => {
  const folder = folderWith({});
  const littleEndian = Buffer.from("\ufeffmachine: {sysctl: {}}\n", "utf16le");
  fs.writeFileSync(path.join(folder, "le.yaml"), littleEndian);
  fs.writeFileSync(path.join(folder, "be.yaml"), Buffer.from(littleEndian).swap16());
  expect((await runCheck(folder)).stdout).toMatch(
    /^\S+\/be\.yaml:1: machine\.sysctl [^\n]+\n\S+\/le\.yaml:1: machine\.sysctl [^\n]+\n$/,
  );
});

test("an unknown Talos release and an unknown format are refused", async () => {
  const folder = folderWith({});
  await expect(runCheck(folder, "--talos=v1.3.1")).rejects.toThrow(
    /^--talos: the package has no data about v1\.3\.1,/,
  );
  await expect(runCheck(folder, "--format=xml")).rejects.toThrow(/^--format: /);
});

test("a chart's values are read from its values file, and a missing values file is reported", async () => {
  const chart = "dependencies: [{ name: gpu-operator, version: v26.3.3 }]\n";
  const folder = folderWith({
    "Chart.yaml": chart,
    "values.yaml":
      "gpu-operator:\n  driver: { enabled: false }\n  toolkit: { enabled: '{{ toolkit }}' }\n  bogus: 1\n",
  });
  const chartOnly = await runCheck(path.join(folder, "Chart.yaml"));
  expect(chartOnly.status).toBe(2);
  expect(chartOnly.stdout).toBe("");
  expect(chartOnly.stderr).toMatch(
    /Chart\.yaml: refers to the values file values\.yaml, which is in none of the given files/,
  );
  expect((await runCheck(folder)).stdout).toMatch(/^\S+values\.yaml:4: bogus: [^\n]+\n$/);

  const app = folderWith({
    "release.yaml":
      "kind: HelmRelease\nmetadata: { name: gpu-operator }\nspec:\n  chartRef: { kind: OCIRepository, name: gpu }\n" +
      "  values:\n    driver: { enabled: false }\n    toolkit: { enabled: '{{ toolkit }}' }\n    bogus: 1\n",
  });
  const repository =
    "kind: OCIRepository\nmetadata: { name: gpu }\nspec: { url: oci://a/gpu-operator, ref: { tag: v26.3.3 } }\n";
  const { status, stdout } = await runCheck(app, folderWith({ "repository.yaml": repository }));
  expect(status).toBe(1);
  expect(stdout).toMatch(/^\S+release\.yaml:8: bogus: [^\n]+v26\.3\.3[^\n]+\n$/);
});

test.each(["/dev/zero", "/dev/null"])(
  "%s is reported, because it is no regular file",
  async (file) => {
    const { status, stderr } = await runCheck(file);
    expect(status).toBe(2);
    expect(stderr).toContain(`${file}: cannot be read (it is no plain file)`);
  },
);

describe("a patch file that a talconfig names", () => {
  const talconfig = (patch: string): string =>
    `clusterName: c\ntalosVersion: v1.13.6\nnodes:\n  - { hostname: a, ipAddress: 192.0.2.1, controlPlane: true, patches: ["@${patch}"] }\n`;
  const secret = "machine: { files: [{ op: s3cr3t-op, path: /var/x, content: x }] }\n";

  test.each(["an absolute path", "a path upwards", "a link"])(
    "is not read outside of the folder: %s",
    async (pathKind) => {
      const outside = folderWith({ "secret.yaml": secret }, ["talos"]);
      const folder = path.join(outside, "talos");
      const file = path.join(outside, "secret.yaml");
      fs.symlinkSync(file, path.join(folder, "link.yaml"));
      const patch = {
        "an absolute path": file,
        "a path upwards": "../secret.yaml",
        "a link": "./link.yaml",
      }[pathKind]!;
      fs.writeFileSync(path.join(folder, "talconfig.yaml"), talconfig(patch));
      const { stdout, stderr } = await runCheck(folder);
      expect(stdout + stderr).not.toContain("s3cr3t");
      expect(stderr).toContain("it is outside of");
    },
  );

  test("is read in the given folder and in the repository", async () => {
    const repositoryFolder = folderWith({ "shared/patch.yaml": "machine: {}\n" }, [
      "talos",
      "shared",
    ]);
    fs.writeFileSync(
      path.join(repositoryFolder, "talos/talconfig.yaml"),
      talconfig("../shared/patch.yaml"),
    );
    expect((await runCheck(repositoryFolder)).stderr).not.toContain("which cannot be read");
    expect((await runCheck(path.join(repositoryFolder, "talos"))).stderr).toContain(
      "it is outside of",
    );
    fs.mkdirSync(path.join(repositoryFolder, ".git"));
    expect((await runCheck(path.join(repositoryFolder, "talos"))).stderr).not.toContain(
      "which cannot be read",
    );
  });
});

describe("a file from talhelper's machineFiles", () => {
  const obsoletePart =
    '[plugins."io.containerd.grpc.v1.cri"]\n  enable_unprivileged_ports = true\n';
  const partFields = "path: /etc/cri/conf.d/20-customization.part, op: create";
  const header = "clusterName: c\ntalosVersion: v1.13.6\n";
  const node = "nodes:\n  - hostname: a\n    ipAddress: 192.0.2.1\n    controlPlane: true\n";

  test.each([
    [
      "of a node",
      `${header}${node}    machineFiles: [{ ${partFields}, content: "@./part.toml" }]\n`,
    ],
    [
      "of a role",
      `${header}${node}controlPlane:\n  machineFiles: [{ ${partFields}, content: "@part.toml" }]\n`,
    ],
  ])(
    "is reported with its own name and line if it is a separate file: %s",
    async (_, talconfig) => {
      const folder = folderWith({ "talconfig.yaml": talconfig, "part.toml": obsoletePart });
      const { status, stdout } = await runCheck(folder);
      expect(status).toBe(1);
      expect(stdout).toMatch(/^\S*part\.toml:1: .*grpc\.v1\.cri/);
    },
  );

  test("is reported in the talconfig if the talconfig has its content", async () => {
    const content = `        content: |\n          ${obsoletePart.trim().replace("\n", "\n          ")}\n`;
    const item = `    machineFiles:\n      - op: create\n        path: /etc/cri/conf.d/20-customization.part\n${content}`;
    const { stdout } = await runCheck(folderWith({ "talconfig.yaml": `${header}${node}${item}` }));
    expect(stdout).toMatch(/^\S*talconfig\.yaml:11: .*grpc\.v1\.cri/);
  });
});

describe("containerd's part that a machine's files write more than once", () => {
  const part = (content: string): string =>
    "machine:\n  files:\n    - op: create\n      path: /etc/cri/conf.d/20-customization.part\n" +
    `      content: |\n        ${content.replaceAll("\n", "\n        ")}\n`;
  const runtime = '[plugins."io.containerd.cri.v1.runtime".containerd]\n';
  const nvidia = part(`${runtime}  default_runtime_name = "nvidia"`);
  const unpacked = part(
    '[plugins."io.containerd.cri.v1.images"]\n  discard_unpacked_layers = false',
  );
  const talconfig = (release: string): string =>
    `clusterName: c\ntalosVersion: ${release}\nnodes:\n` +
    "  - hostname: gpu\n    ipAddress: 192.0.2.1\n    patches: ['@./gpu.yaml']\n" +
    "    kernelModules: [{ name: nvidia }]\npatches: ['@./all.yaml']\n";
  const findingsOf = async (release: string) => {
    const folder = folderWith({
      "talconfig.yaml": talconfig(release),
      "gpu.yaml": nvidia,
      "all.yaml": unpacked,
    });
    const { findings } = JSON.parse((await runCheck(folder, "--json")).stdout) as {
      findings: FileFinding[];
    };
    return findings.map(({ file, line, check: id, problem, why }) => ({
      place: `${path.basename(file)}:${line} ${id}`,
      message: `${problem}; ${why}`,
    }));
  };

  test("is reported with both places, and each part is checked", async () => {
    expect(await findingsOf("v1.13.6")).toEqual([
      {
        place: "all.yaml:4 machine-file-once",
        message: expect.stringMatching(
          /again: \S+gpu\.yaml:4 already writes it; .*reboots again and again/,
        ) as string,
      },
      {
        place: "gpu.yaml:7 default-runtime",
        message: expect.stringMatching(/^makes nvidia the default runtime/) as string,
      },
    ]);
  });

  test("is reported on Talos 1.14, which uses only the first item", async () => {
    expect(await findingsOf("v1.14.0")).toContainEqual({
      place: "all.yaml:4 machine-file-once",
      message: expect.stringMatching(/Talos ≥ 1\.14 uses only the first item/) as string,
    });
  });

  test("is reported if a single patch writes it twice", async () => {
    const item = unpacked.split("\n").slice(2).join("\n");
    const { stdout } = await runCheck(
      folderWith({ "gpu.yaml": unpacked + item }),
      "--talos=v1.13.6",
    );
    expect(stdout).toMatch(
      /^\S+gpu\.yaml:9: \S+ is written again: \S+gpu\.yaml:4 already writes it;/,
    );
  });
});
