import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { LabEngine, type Program } from "../../engine";
import { serveCharts } from "../../charts/repository";
import { startControlPlane } from "../../controlplane";
import { CommandProvider } from "../../providers/command";
import { serveProvider } from "../../providers/serve";
import { provideTools } from "../../tools";

/** A control plane, the providers and an engine for each stack. */
export interface TestLab {
  readonly dir: string;
  readonly kubeconfig: string;
  /** Makes an engine with a new stack on the same cluster. */
  openEngine(name: string, program: Program, secrets?: Record<string, string>): Promise<LabEngine>;
  close(): Promise<void>;
}

/** Starts the control plane and the providers. Builds programs that the cache lacks. */
export async function openTestLab(): Promise<TestLab> {
  const tools = await provideTools({
    only: ["pulumi", "pulumi-resource-kubernetes", "controlplane"],
  });
  const dir = await mkdtemp(path.join(tmpdir(), "talos-gpu-engine-"));
  const cluster = await startControlPlane({
    dir: path.join(dir, "controlplane"),
    binary: tools.controlplane,
  });
  const charts = await serveCharts({
    dir: path.join(dir, "charts"),
    controlPlane: tools.controlplane,
  });
  const commandServer = await serveProvider(new CommandProvider({ directory: dir }));
  const plugins = {
    command: commandServer.port,
    kubernetes: await charts.redirect(tools["pulumi-resource-kubernetes"]),
  };
  return {
    dir,
    kubeconfig: cluster.adminKubeconfig,
    openEngine: (name, program, secrets = {}) =>
      LabEngine.open({
        pulumi: tools.pulumi,
        dir: path.join(dir, name),
        project: "trial",
        stack: name,
        program,
        secrets,
        plugins,
        environment: { TALOS_GPU_CHARTS: charts.addressOf("") },
      }),
    close: async () => {
      await Promise.all([commandServer.close(), cluster.stop(), charts.close()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}
