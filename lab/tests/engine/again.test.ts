import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { registerSchematics } from "../../../components/machine/schematic";
import { schematicOf } from "../../../components/recipe/machine/schematic";
import { LabEngine } from "../../engine";
import { startFactory } from "../../factory";
import { serveProvider } from "../../providers/serve";
import { TalosProvider } from "../../providers/talos";
import { builtTool } from "../built-tool";

// Pulumi's own engine calls the error hook, after which the provider tries again.

const pulumi = builtTool("pulumi");

(pulumi === undefined ? test.skip : test)(
  "an update succeeds if the Image Factory refuses the first two requests",
  async () => {
    const dir = await mkdtemp(path.join(tmpdir(), "talos-gpu-again-"));
    const factory = await startFactory();
    const options = {
      talosctl: "none",
      factory: factory.url,
      machineApi: "",
      maintenance: {},
      tempDir: dir,
      timeScale: 1,
    };
    const server = await serveProvider(new TalosProvider(options));
    const { yaml, id } = schematicOf({ extensions: ["siderolabs/iscsi-tools"], kernelArgs: [] });
    const engine = await LabEngine.open({
      pulumi: pulumi!,
      dir: path.join(dir, "engine"),
      project: "trial",
      stack: "again",
      secrets: {},
      plugins: { talos: server.port },
      program: async () => ({
        ...registerSchematics("a", [{ name: "m", schematic: yaml, schematicId: id }], {}),
      }),
    });
    try {
      factory.failNext("POST /schematics", 2);
      const { result, diagnostics } = await engine.up();
      expect(diagnostics.filter((line) => line.startsWith("error"))).toEqual([]);
      expect(result).toBe("succeeded");
      expect(diagnostics.join("\n")).toContain(
        "a-m-schematic: the Image Factory did not accept the schematic",
      );
      expect(factory.requests()["POST /schematics"]).toBe(3);
    } finally {
      await Promise.all([server.close(), factory.close()]);
      await rm(dir, { recursive: true, force: true });
    }
  },
  120_000,
);
