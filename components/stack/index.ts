import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import { GpuCluster, type GpuClusterArgs } from "../gpu-cluster";
import "../pulumi/engine-gone"; // This ends the program when its engine ends.
import { readConfiguration } from "./configuration";
import { withoutStackTraces } from "../pulumi/without-stack-traces";

/**
 * The program of every stack. A stack consists only of its file, `Pulumi.<stack>.yaml`. The program keeps no state, so
 * it may run several times in one process. Pulumi's Node host calls what a main file exports, if that is a function
 * (pulumi/pulumi, sdk/nodejs/cmd/run/run.ts, runProgram): `export = stack`, or `export default stack` of an ES module.
 *
 * @returns The outputs of the stack.
 */
export async function stack(): Promise<Record<string, pulumi.Input<unknown>>> {
  // These functions are public at run time, but missing in the SDK's types.
  const { isConfigSecret } = pulumi.runtime as unknown as {
    isConfigSecret: (key: string) => boolean;
  };
  const { spec, credentials, findings } = readConfiguration(
    pulumi.runtime.allConfig(),
    isConfigSecret,
    process.env,
  );
  // The Image Factory knows the drivers of a Talos release that the tables lack.
  const args = await GpuCluster.withFacts({
    ...(spec as unknown as GpuClusterArgs),
    ...credentials,
  });
  GpuCluster.plan(args, findings); // A stack with mistakes ends here, before the program registers a provider.
  const options = { providers: providers(spec, credentials.kubeconfig) };
  const cluster = withoutStackTraces(() => new GpuCluster(pulumi.getStack(), args, options));
  const { machines, gpuReady, runtimeClassName, gpuResourceName, gpuNodeSelector, endpoints } =
    cluster;
  const { talosconfig, machineSecrets, kubeconfig } = cluster;
  const outputs = {
    machines,
    gpuReady,
    runtimeClassName,
    gpuResourceName,
    gpuNodeSelector,
    endpoints,
  };
  // Only the stack's outputs contain the kubeconfig of a cluster that it created: `pulumi stack output --show-secrets
  // kubeconfig`.
  return args.bootstrap ? { ...outputs, talosconfig, machineSecrets, kubeconfig } : outputs;
}

function providers(
  spec: Record<string, unknown>,
  kubeconfig: string | undefined,
): Record<string, pulumi.ProviderResource> {
  return {
    // Without a kubeconfig Pulumi's default provider uses the ambient one. With an explicit identifier the provider
    // treats a changed server URL as the same cluster. Without the identifier, the provider would replace every object,
    // and fail because the objects already exist.
    ...(kubeconfig === undefined
      ? {}
      : {
          kubernetes: new k8s.Provider("kubernetes", {
            kubeconfig: pulumi.secret(kubeconfig),
            clusterIdentifier: pulumi.getStack(),
          }),
        }),
    ...(typeof spec.factoryUrl === "string"
      ? { talos: new talos.Provider("talos", { imageFactoryUrl: factoryOf(spec.factoryUrl) }) }
      : {}),
  };
}

/**
 * URL of the Image Factory. If the environment variable TALOS_GPU_FACTORY is set, it overrides the stack's field, as in
 * all programs of this package.
 */
const factoryOf = (stacks: string): string => process.env["TALOS_GPU_FACTORY"] || stacks;
