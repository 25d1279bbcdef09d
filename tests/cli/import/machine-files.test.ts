import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { importFiles } from "../../../cli/import/verb";
import { runVerb } from "../stand";

async function run(...argv: string[]) {
  const { result, remarks } = await runVerb("import", importFiles, argv);
  const { config } = parse(result) as { config: Record<string, any> };
  return { config, remarks };
}

function written(text: string): string {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "import-")), "talconfig.yaml");
  fs.writeFileSync(file, text);
  return file;
}

describe("the containerd part that a talconfig's machineFiles write", () => {
  const part = '[plugins."io.containerd.cri.v1.runtime"]\n  cdi_spec_dirs = ["/var/cdi"]\n';
  const file = { op: "create", path: "/etc/cri/conf.d/20-customization.part", content: part };
  const talconfig = (more: object, node: object = {}): string =>
    stringify({ talosVersion: "v1.12.6", nodes: [{ hostname: "gpu", ipAddress: "192.0.2.1", ...node }], ...more });

  test.each([
    ["of a node", talconfig({}, { machineFiles: [file] })],
    ["of a role, in a file", talconfig({ worker: { machineFiles: [{ ...file, content: "@part.toml" }] } })],
  ])("goes over: %s", async (_, text) => {
    const from = written(text);
    fs.writeFileSync(path.join(path.dirname(from), "part.toml"), part);
    const { config, remarks } = await run(from, "--gpu", "gpu=RTX 3060");
    expect(config["talos-gpu:machines"].gpu.containerd).toEqual({ extra: part });
    expect(remarks).toContainEqual(expect.stringMatching(/^machines\.gpu\.containerd: .*another tool writes today/));
  });

  test("and a patch writes too keeps the machine from booting, and import says so", async () => {
    const patch = stringify({ machine: { files: [{ ...file, content: "[metrics]\n" }] } });
    const from = written(talconfig({ patches: [patch] }, { machineFiles: [file] }));
    const { remarks } = await run(from, "--gpu", "gpu=RTX 3060");
    expect(remarks).toContainEqual(
      expect.stringMatching(/^machines\.gpu\.containerd: .*20-customization\.part 2 times/),
    );
  });
});
