import * as fs from "node:fs";
import * as os from "node:os";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import { importFiles } from "../../../cli/import/verb";
import { runVerb } from "../support";

describe("the GPU provider that import finds in a repository", () => {
  /** Imports a repository with a talconfig of one machine, and with these files. */
  async function importRepository(files: Record<string, string>) {
    const repository = fs.mkdtempSync(path.join(os.tmpdir(), "import-"));
    const allFiles = {
      "talos/talconfig.yaml": stringify({
        talosVersion: "v1.13.6",
        nodes: [{ hostname: "gpu", ipAddress: "192.0.2.1" }],
      }),
      ".git/HEAD": "",
      ...files,
    };
    for (const [name, text] of Object.entries(allFiles)) {
      fs.mkdirSync(path.join(repository, path.dirname(name)), { recursive: true });
      fs.writeFileSync(path.join(repository, name), text);
    }
    const out = path.join(repository, "stack.yaml");
    const { remarks, status } = await runVerb("import", importFiles, [
      path.join(repository, "talos/talconfig.yaml"),
      "--gpu=gpu=L4",
      `--out=${out}`,
    ]);
    const text = fs.readFileSync(out, "utf8");
    fs.rmSync(repository, { recursive: true });
    const { config } = parse(text) as { config: Record<string, any> };
    return { config, text, remarks, status };
  }

  const helmRelease = (name: string, chart: string, version = "26.3.3", values = "{}") =>
    `kind: HelmRelease\nmetadata: { name: ${name} }\nspec: { chart: { spec: { chart: ${chart}, version: ${version} } }, values: ${values} }\n`;
  const draRelease = helmRelease(
    "dra",
    "nvidia-dra-driver-gpu",
    "25.8.0",
    "{ nvidiaDriverRoot: /usr/local, gpuResourcesEnabledOverride: true }",
  );

  test("is the operator, with a note, if no file installs one", async () => {
    const { config, text, remarks, status } = await importRepository({});
    expect(config).toHaveProperty(["talos-gpu:gpuOperator"]);
    const note =
      /gpuOperator: no file here installs a GPU provider, so this stack will install GPU Operator/;
    expect(remarks).toEqual([expect.stringMatching(note), expect.stringMatching(/^Wrote /)]);
    expect(text).toMatch(note);
    expect(status).toBe(0);
  });

  test("is the DRA driver if a file installs its former chart", async () => {
    const { config } = await importRepository({ "apps/dra/helmrelease.yaml": draRelease });
    expect(config["talos-gpu:external"]).toEqual({ files: ["apps/dra/helmrelease.yaml"] });
    expect(config).not.toHaveProperty(["talos-gpu:gpuOperator"]);
  });

  test("is the DRA driver if files install the driver and the operator", async () => {
    const { config, remarks } = await importRepository({
      "apps/a.yaml": helmRelease("gpu-operator", "gpu-operator"),
      "apps/dra.yaml": draRelease,
    });
    expect(config["talos-gpu:external"]).toEqual({ kind: "dra" });
    expect(remarks).toContainEqual(
      expect.stringMatching(/^external: apps\/a\.yaml, apps\/dra\.yaml install/),
    );
  });

  test("is not found in a file that is not YAML, and a remark requests the repair of that file", async () => {
    const { remarks, status } = await importRepository({
      "apps/gpu/helmrelease.yaml": helmRelease("gpu-operator", "gpu-operator").replace(
        "spec:",
        "\tspec:",
      ),
    });
    expect(remarks).toContainEqual(
      expect.stringMatching(
        /^external: apps\/gpu\/helmrelease\.yaml:3 is not YAML: .*may install a second one; repair the file/,
      ),
    );
    expect(status).toBe(1);
  });

  test("is listed together with the Flux Kustomization that sets its namespace", async () => {
    const kustomization =
      "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nspec: { path: ./apps/gpu/app, targetNamespace: kube-system }\n";
    const { config } = await importRepository({
      "apps/gpu/app/helmrelease.yaml": helmRelease(
        "nvidia-device-plugin",
        "nvidia-device-plugin",
        "0.19.3",
        "{ runtimeClassName: nvidia }",
      ),
      "apps/gpu/app/kustomization.yaml": "resources: [./helmrelease.yaml]\n",
      "apps/gpu/ks.yaml": kustomization,
      "apps/other/ks.yaml": kustomization
        .replace("./apps/gpu", "./apps/other")
        .replace("kube-system", "other"),
    });
    expect(config["talos-gpu:external"]).toEqual({
      files: ["apps/gpu/app/helmrelease.yaml", "apps/gpu/ks.yaml"],
    });
  });
});
