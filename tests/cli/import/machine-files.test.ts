import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { importFiles } from "../../../cli/import/verb";
import { runVerb } from "../support";

async function runImport(...argv: string[]) {
  const { stdout, remarks } = await runVerb("import", importFiles, argv);
  const { config } = parse(stdout) as { config: Record<string, any> };
  return { config, remarks };
}

function writeTalconfig(text: string): string {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "import-")), "talconfig.yaml");
  fs.writeFileSync(file, text);
  return file;
}

describe("the containerd part of a talconfig", () => {
  const part =
    '[plugins."io.containerd.cri.v1.runtime".containerd]\n  default_runtime_name = "nvidia"\n';
  const file = { op: "create", path: "/etc/cri/conf.d/20-customization.part", content: part };
  const talconfig = (fields: object, node: object = {}): string =>
    stringify({
      talosVersion: "v1.12.6",
      nodes: [{ hostname: "gpu", ipAddress: "192.0.2.1", ...node }],
      ...fields,
    });

  test.each([
    ["a node's machineFiles", talconfig({}, { machineFiles: [file] })],
    [
      "a role's machineFiles, which name a file",
      talconfig({ worker: { machineFiles: [{ ...file, content: "@part.toml" }] } }),
    ],
  ])("is imported from %s", async (_, text) => {
    const talconfigFile = writeTalconfig(text);
    fs.writeFileSync(path.join(path.dirname(talconfigFile), "part.toml"), part);
    const { config, remarks } = await runImport(talconfigFile, "--gpu", "gpu=RTX 3060");
    expect(config["talos-gpu:machines"].gpu.containerd).toEqual({ extra: part });
    expect(remarks).toContainEqual(
      expect.stringMatching(/^machines\.gpu\.containerd: .*another tool writes today/),
    );
  });

  test("is reported if machineFiles and a patch both write it", async () => {
    const patch = stringify({ machine: { files: [{ ...file, content: "[metrics]\n" }] } });
    const talconfigFile = writeTalconfig(talconfig({ patches: [patch] }, { machineFiles: [file] }));
    const { remarks } = await runImport(talconfigFile, "--gpu", "gpu=RTX 3060");
    expect(remarks).toContainEqual(
      expect.stringMatching(
        /^machines\.gpu\.containerd: .*20-customization\.part 2 times \(\S+talconfig\.yaml:\d+, \S+talconfig\.yaml:\d+\)/,
      ),
    );
  });

  test("is not reported as written twice if a JSON patch replaces all files", async () => {
    const patch = stringify([{ op: "add", path: "/machine/files", value: [file] }]);
    const talconfigFile = writeTalconfig(talconfig({ patches: [patch] }, { machineFiles: [file] }));
    const { config, remarks } = await runImport(talconfigFile, "--gpu", "gpu=RTX 3060");
    expect(config["talos-gpu:machines"].gpu.containerd).toEqual({ extra: part });
    expect(remarks.join()).not.toContain("2 times");
  });

  test.each([
    'cdi_spec_dirs = ["/var/cdi/static", "/var/cdi/dynamic"]',
    "device_ownership_from_security_context = true",
    "enable_unprivileged_ports = true\n  enable_unprivileged_icmp = true",
  ])("is not imported if it has no setting of NVIDIA: %s", async (setting) => {
    const content = `[plugins."io.containerd.cri.v1.runtime"]\n  ${setting}\n`;
    const talconfigFile = writeTalconfig(
      talconfig({ worker: { machineFiles: [{ ...file, content }] } }),
    );
    const { config, remarks } = await runImport(talconfigFile, "--gpu", "gpu=RTX 3060");
    expect(config["talos-gpu:machines"].gpu).not.toHaveProperty("containerd");
    expect(remarks.filter((remark) => remark.startsWith("machines"))).toEqual([]);
  });

  test("is reported with file and line instead of being imported if it is faulty", async () => {
    const talconfigFile = writeTalconfig(
      talconfig({ talosVersion: "v1.13.6", patches: ["@gpu.yaml"] }),
    );
    const patch = stringify({ machine: { files: [file] } });
    fs.writeFileSync(path.join(path.dirname(talconfigFile), "gpu.yaml"), patch);
    const line = patch.split("\n").findIndex((text) => text.includes("default_runtime_name")) + 1;
    const { config, remarks } = await runImport(talconfigFile, "--gpu", "gpu=RTX 3060");
    expect(config["talos-gpu:machines"].gpu).not.toHaveProperty("containerd");
    const [containerdRemark] = remarks.filter((remark) =>
      remark.startsWith("machines.gpu.containerd"),
    );
    expect(containerdRemark).toMatch(
      new RegExp(`is left out, because \\S*gpu\\.yaml:${line} makes nvidia the default runtime`),
    );
    expect(containerdRemark).toMatch(
      /change the other tool's file, because this stack does not configure containerd: /,
    );
  });

  test("is reported with its file if its patch is not YAML", async () => {
    const talconfigFile = writeTalconfig(talconfig({ patches: ["@gpu.yaml"] }));
    fs.writeFileSync(
      path.join(path.dirname(talconfigFile), "gpu.yaml"),
      "machine: [\n# x\nnvidia\n",
    );
    const { remarks } = await runImport(talconfigFile, "--gpu", "gpu=RTX 3060");
    expect(remarks).toContainEqual(
      expect.stringMatching(/^patches\[0\]: \S*gpu\.yaml:\d+ is no YAML \(.+\);/),
    );
  });
});
