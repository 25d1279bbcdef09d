import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import * as path from "node:path";
import { LabEngine, type Program } from "../../../lab/engine";
import { startControlPlane } from "../../../lab/controlplane";
import { CommandProvider } from "../../../lab/providers/command";
import { KubernetesProvider } from "../../../lab/providers/kubernetes";
import { type ServedProvider, serveProvider } from "../../../lab/providers/serve";
import { provideTools } from "../../../lab/tools";

/** A control plane, the providers and what it takes to run programs against them. */
export interface TestLab {
  readonly dir: string;
  readonly kubeconfig: string;
  /** Charts by `repository chart version`, to be filled by the test. */
  readonly charts: Map<string, string>;
  /** A stack of its own on the same cluster. */
  engine(name: string, program: Program, secrets?: Record<string, string>): Promise<LabEngine>;
  close(): Promise<void>;
}

/** Starts the control plane and the providers; builds the binaries when the cache does not have them. */
export async function openTestLab(): Promise<TestLab> {
  const tools = await provideTools({ only: ["pulumi", "controlplane", "helm"] });
  const dir = await mkdtemp(path.join(tmpdir(), "talos-gpu-engine-"));
  const cluster = await startControlPlane({ dir: path.join(dir, "controlplane"), binary: tools.controlplane });
  const charts = new Map<string, string>();
  const chartOf = (...key: string[]): string[] => {
    const folder = charts.get(key.join(" "));
    if (!folder) throw new Error(`chart: ${key.join(" ")} is not there`);
    return [folder];
  };
  const served: Record<string, ServedProvider> = {
    kubernetes: await serveProvider(
      () => new KubernetesProvider({ helm: tools.helm, temporary: dir, charts: chartOf }),
    ),
    command: await serveProvider(() => new CommandProvider({ directory: dir })),
  };
  const plugins = Object.fromEntries(Object.entries(served).map(([name, { port }]) => [name, port]));
  return {
    dir,
    kubeconfig: cluster.adminKubeconfig,
    charts,
    engine: (name, program, secrets = {}) =>
      LabEngine.open({
        ...{
          pulumi: tools.pulumi,
          dir: path.join(dir, name),
          project: "trial",
          stack: name,
          program,
          secrets,
          plugins,
        },
      }),
    close: async () => {
      await Promise.all(Object.values(served).map((provider) => provider.close()));
      await cluster.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
