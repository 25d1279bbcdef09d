import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import * as talos from "@pulumiverse/talos";
import { GpuCluster, type GpuClusterArgs } from "../gpu-cluster";
import "../pulumi/engine-gone"; // the program ends with the engine that started it
import { readConfiguration } from "./configuration";
import { withoutStackTraces } from "../pulumi/without-stack-traces";

/**
 * The program of every stack: a stack is its file, `Pulumi.<stack>.yaml`, and nothing else. It keeps no state of its
 * own, so that it may run more than once in a process. Pulumi's Node host calls what a main file exports, if that is
 * a function (pulumi/pulumi, sdk/nodejs/cmd/run/run.ts, runProgram): `export = stack`, or `export default stack` of
 * an ES module.
 *
 * @returns The outputs of the stack.
 */
export async function stack(): Promise<Record<string, pulumi.Input<unknown>>> {
  // Public at run time, but not in the SDK's types.
  const { isConfigSecret } = pulumi.runtime as unknown as {
    isConfigSecret: (key: string) => boolean;
  };
  const { spec, credentials, findings } = readConfiguration(
    pulumi.runtime.allConfig(),
    isConfigSecret,
    process.env,
  );
  // A Talos release that the tables do not have yet: the Image Factory knows what it brings.
  const args = await GpuCluster.withFacts({
    ...(spec as unknown as GpuClusterArgs),
    ...credentials,
  });
  GpuCluster.plan(args, findings); // a stack with mistakes ends here, before even a provider is registered
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
  // Only the stack has those of a cluster that it made: `pulumi stack output --show-secrets kubeconfig`.
  return args.bootstrap ? { ...outputs, talosconfig, machineSecrets, kubeconfig } : outputs;
}

function providers(
  spec: Record<string, unknown>,
  kubeconfig: string | undefined,
): Record<string, pulumi.ProviderResource> {
  return {
    // Without a kubeconfig Pulumi's default provider uses the ambient one. With an identifier of its own the provider
    // takes another server's URL for the same cluster; without, it would replace every object, and fail because they
    // exist.
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
 * URL of the Factory to ask. TALOS_GPU_FACTORY, if it is set, overrides the stack's, as in every other program that
 * asks it.
 */
const factoryOf = (stacks: string): string => process.env["TALOS_GPU_FACTORY"] || stacks;
