import type { Properties } from "../provider";
import { secret } from "../values";
import { readBundle, writeBundle } from "./secrets-bundle";
import type { RunLimits, Talosctl } from "./talosctl";

// Functions that make configurations. Source: terraform-provider-talos v0.11.0, pkg/talos/util.go (generate) and the data
// sources; the provider is built on Talos v1.13.0, whatever release it makes a configuration for (issue #235 there).

/** Image that a generated configuration installs, unless patched. */
const defaultInstallImage = "ghcr.io/siderolabs/installer:v1.13.0";

/** Release whose features are used, unless said. */
export const defaultTalosVersion = "v1.13";

/** Answers the function `talos:machine/getConfiguration:getConfiguration`: a machine's configuration, as talosctl generates it. */
export async function machineConfiguration(
  talosctl: Talosctl,
  args: Properties,
  limits: RunLimits,
): Promise<Properties> {
  const type = args["machineType"];
  if (type !== "controlplane" && type !== "worker") {
    throw new Error(`machineType: "${String(type)}" is neither controlplane nor worker`);
  }
  for (const name of ["clusterName", "clusterEndpoint", "machineSecrets"])
    if (!args[name]) throw new Error(`${name}: missing; it is required`);
  const talosVersion = (args["talosVersion"] as string | undefined) ?? defaultTalosVersion;
  const kubernetesVersion = args["kubernetesVersion"] as string | undefined;
  const patches = (args["configPatches"] as string[] | undefined) ?? [];
  const bundle = writeBundle(args["machineSecrets"] as Properties);
  const { stdout } = await talosctl.run(
    [bundle, ...patches],
    ([secrets = "", ...files]) => [
      ...["gen", "config", String(args["clusterName"]), String(args["clusterEndpoint"])],
      ...["--with-secrets", secrets, "--talos-version", talosVersion],
      ...(kubernetesVersion ? ["--kubernetes-version", kubernetesVersion.replace(/^v/, "")] : []),
      ...["--install-image", defaultInstallImage, "--install-disk", "/dev/sda"],
      ...[`--with-docs=${args["docs"] === true}`, `--with-examples=${args["examples"] === true}`],
      ...files.flatMap((file) => [
        type === "worker" ? "--config-patch-worker" : "--config-patch-control-plane",
        `@${file}`,
      ]),
      ...["--output-types", type, "--output", "-"],
    ],
    limits,
  );
  const machineSecrets = readBundle(bundle, secret);
  return {
    ...args,
    id: args["clusterName"],
    talosVersion,
    machineSecrets,
    machineConfiguration: secret(printed(stdout)),
  };
}

/** A whole configuration with patches merged into it, in their order. */
export async function patchedConfiguration(
  talosctl: Talosctl,
  configuration: string,
  patches: readonly string[],
  limits: RunLimits,
): Promise<string> {
  const { stdout } = await talosctl.run(
    [configuration, ...patches],
    ([file = "", ...files]) => ["machineconfig", "patch", file, ...files.flatMap((patch) => ["--patch", `@${patch}`])],
    limits,
  );
  return printed(stdout);
}

/** talosctl prints what it made, and one line end more. */
const printed = (stdout: string): string => `${stdout.trimEnd()}\n`;
