import { stringify } from "yaml";
import { GpuCluster, type GpuClusterArgs } from "../../components/index";
import { configurationOf } from "../../stacks/stack-file";
import { kubeconfig, machineSecrets, talosconfig } from "../../tests/support/talos";
import { fleetOf } from "../fleet";
import { measure } from "../measured";

// `planning.ts plan|read COUNT`: reads a stack file with that many machines. `plan` also checks and plans it.

const file = "Pulumi.bench.yaml";

const stackFileOf = (count: number): string =>
  stringify({
    config: Object.fromEntries(
      Object.entries(fleetOf(count)).map(([key, value]) => [`talos-gpu:${key}`, value]),
    ),
  });

const readArgs = (text: string): GpuClusterArgs => {
  const stackConfig = configurationOf(text, file) as unknown as GpuClusterArgs;
  return { ...stackConfig, talosconfig, machineSecrets, kubeconfig };
};

function main(which: string, count: number): void {
  const text = stackFileOf(count);
  GpuCluster.plan(readArgs(stackFileOf(10))); // loads and compiles the code that both use
  void measure(() => {
    const args = readArgs(text);
    if (which === "read") return;
    const { machines } = GpuCluster.plan(args);
    if (machines.length !== count)
      throw new Error(`planned ${machines.length} of ${count} machines`);
  });
}

main(process.argv[2] ?? "", Number(process.argv[3]));
