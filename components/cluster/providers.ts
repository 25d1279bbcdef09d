import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { kubeconfigOfFiles, kubeconfigOfVariable } from "../clients/kubernetes/kubeconfig-files";
import { clusterNamedBy, isSameCluster } from "../clients/kubernetes/same-server";
import { renderFinding } from "../recipe";

/** Settings from which Pulumi's default Kubernetes provider finds its cluster. */
export interface ProviderSettings {
  /** Reads a key of the provider's own configuration, such as `kubernetes:kubeconfig`; undefined if it is not set. */
  config: (key: "kubeconfig" | "context") => string | undefined;
  environment: NodeJS.ProcessEnv;
  home: string;
}

/**
 * Warns if the options have no Kubernetes provider and Pulumi's default provider seems to use another cluster than
 * `kubeconfig`. It is only a warning, because the same cluster may have several URLs, and a proxy may have its own
 * certificate authority.
 *
 * @param kubeconfig the argument; undefined if the argument is not set. The machine program and the default provider
 *   then both use the shell's kubeconfig.
 */
export function warnOfProvider(
  component: pulumi.ComponentResource,
  kubeconfig: pulumi.Output<string> | undefined,
): void {
  if (
    kubeconfig === undefined ||
    component.getProvider("kubernetes:core/v1:Namespace") !== undefined
  )
    return;
  const config = new pulumi.Config("kubernetes");
  const providerSettings = {
    config: (key: string) => config.get(key),
    environment: process.env,
    home: os.homedir(),
  };
  const warnIfDifferent = (text: string | undefined): void => {
    const warning = providerWarning(text, providerSettings);
    if (warning !== undefined) void pulumi.log.warn(warning, component);
  };
  const { isKnown } = kubeconfig as unknown as { isKnown: Promise<boolean> };
  // The default provider cannot know a cluster that the same Pulumi program creates.
  void isKnown.then((isKnownNow) =>
    isKnownNow ? void kubeconfig.apply(warnIfDifferent) : warnIfDifferent(undefined),
  );
}

/**
 * Text of the warning for a component whose resource options have no Kubernetes provider; undefined if Pulumi's default
 * provider uses the cluster of `kubeconfig`.
 *
 * @param kubeconfig content of the kubeconfig; undefined if it is not known yet.
 */
export function providerWarning(
  kubeconfig: string | undefined,
  providerSettings: ProviderSettings,
): string | undefined {
  const [kubeconfigCluster, providerCluster] = [
    kubeconfig === undefined ? undefined : clusterNamedBy(kubeconfig),
    defaultCluster(providerSettings),
  ];
  if (
    kubeconfigCluster !== undefined &&
    providerCluster !== undefined &&
    isSameCluster(kubeconfigCluster, providerCluster)
  )
    return undefined;
  const providerText =
    providerCluster === undefined
      ? "no cluster that this program can find"
      : providerCluster.server;
  const server = kubeconfigCluster?.server ?? "the cluster of kubeconfig";
  return renderFinding({
    field: "providers",
    problem: `the component's options have no Kubernetes provider, and Pulumi's default provider uses ${providerText}`,
    why: `this package drains machines and reads objects in ${server}, but Pulumi would create objects in the cluster of its default provider`,
    remedy:
      'pass a provider with the same kubeconfig: { providers: { kubernetes: new k8s.Provider("kubernetes", { kubeconfig }) } }',
  });
}

/**
 * Content of the kubeconfig. `value` is this content or the file's path; without a value the file is `~/.kube/config`.
 */
function kubeconfigText(value: string | undefined, home: string): string {
  if (value === undefined || value === "")
    return kubeconfigOfFiles([path.join(home, ".kube", "config")]);
  const isContent = value.includes("\n") || value.trimStart().startsWith("{");
  return isContent ? value : kubeconfigOfVariable(value);
}

/**
 * The cluster of Pulumi's default provider (pulumi-kubernetes, provider.go and schema.json: `kubeconfig` is a text or
 * a path, default KUBECONFIG).
 */
function defaultCluster({
  config,
  environment,
  home,
}: ProviderSettings): ReturnType<typeof clusterNamedBy> {
  const kubeconfigValue = config("kubeconfig") || environment["KUBECONFIG"];
  try {
    return clusterNamedBy(kubeconfigText(kubeconfigValue, home), config("context"));
  } catch {
    return undefined;
  }
}

/**
 * Message of a preview about the Talos provider, which sends configurations to machines and schematics to the Image
 * Factory.
 */
export function talosProvider(component: pulumi.ComponentResource): string | undefined {
  const provider = component.getProvider("talos:machine/configurationApply:ConfigurationApply");
  const { __version: ownVersion } = (provider ?? {}) as { __version?: string };
  const sdkVersion = versionOfSdk();
  const version = ownVersion ?? sdkVersion;
  return version === undefined
    ? undefined
    : `Talos provider: ${version}${ownVersion === undefined ? ", of @pulumiverse/talos" : ""}`;
}

/** Version of the Talos provider's plugin that the installed SDK requests for its resources. */
function versionOfSdk(): string | undefined {
  try {
    const file = createRequire(__filename).resolve("@pulumiverse/talos/package.json");
    const { version, pulumi: pluginInfo } = JSON.parse(fs.readFileSync(file, "utf8")) as {
      version?: string;
      pulumi?: { version?: string };
    };
    return pluginInfo?.version ?? version;
  } catch {
    return undefined;
  }
}
