import * as fs from "node:fs";
import { createRequire } from "node:module";
import * as os from "node:os";
import * as path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { kubeconfigOfFiles, kubeconfigOfVariable } from "../clients/kubernetes/kubeconfig-files";
import { clusterNamedBy, isSameCluster } from "../clients/kubernetes/same-server";
import { renderFinding } from "../recipe";

/** Settings from which Pulumi's default Kubernetes provider finds its cluster. */
export interface Ambient {
  /** Reads a key of the provider's own configuration, such as `kubernetes:kubeconfig`; undefined if it is not set. */
  config: (key: "kubeconfig" | "context") => string | undefined;
  environment: NodeJS.ProcessEnv;
  home: string;
}

/**
 * Warns that Pulumi may create objects in another cluster than the one of `kubeconfig`: the options have no Kubernetes
 * provider, and the default one may use another cluster. This is only a warning: one cluster may have several URLs, and
 * a proxy may have its own certificate authority.
 *
 * @param kubeconfig the argument; undefined if it is not set: the machine program and the default provider then both
 * use the shell's kubeconfig.
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
  const ambient = {
    config: (key: string) => config.get(key),
    environment: process.env,
    home: os.homedir(),
  };
  const tell = (text: string | undefined): void => {
    const warning = providerWarning(text, ambient);
    if (warning !== undefined) void pulumi.log.warn(warning, component);
  };
  const { isKnown } = kubeconfig as unknown as { isKnown: Promise<boolean> };
  // The default provider cannot know a cluster that the same Pulumi program creates.
  void isKnown.then((known) => (known ? void kubeconfig.apply(tell) : tell(undefined)));
}

/**
 * Warning for options without a Kubernetes provider; undefined if the default one uses the same cluster.
 *
 * @param kubeconfig undefined if it is not known yet.
 */
export function providerWarning(
  kubeconfig: string | undefined,
  ambient: Ambient,
): string | undefined {
  const [wanted, found] = [
    kubeconfig === undefined ? undefined : clusterNamedBy(kubeconfig),
    defaultCluster(ambient),
  ];
  if (wanted !== undefined && found !== undefined && isSameCluster(wanted, found)) return undefined;
  const leads = found === undefined ? "no cluster that this program can find" : found.server;
  const server = wanted?.server ?? "the cluster of kubeconfig";
  return renderFinding({
    field: "providers",
    problem: `the component's options have no Kubernetes provider, and Pulumi's default provider uses ${leads}`,
    why: `this package drains machines and reads objects in ${server}, but Pulumi would create objects in the cluster of its default provider`,
    remedy:
      'pass a provider with the same kubeconfig: { providers: { kubernetes: new k8s.Provider("kubernetes", { kubeconfig }) } }',
  });
}

/** The kubeconfig from a text that is its content or its path; without a text, from the user's home. */
function kubeconfigSaid(said: string | undefined, home: string): string {
  if (said === undefined || said === "")
    return kubeconfigOfFiles([path.join(home, ".kube", "config")]);
  const isContent = said.includes("\n") || said.trimStart().startsWith("{");
  return isContent ? said : kubeconfigOfVariable(said);
}

/**
 * The cluster of Pulumi's default provider (pulumi-kubernetes, provider.go and schema.json: `kubeconfig` is a text or
 * a path, default KUBECONFIG).
 */
function defaultCluster({ config, environment, home }: Ambient): ReturnType<typeof clusterNamedBy> {
  const said = config("kubeconfig") || environment["KUBECONFIG"];
  try {
    return clusterNamedBy(kubeconfigSaid(said, home), config("context"));
  } catch {
    return undefined;
  }
}

/**
 * Message of a preview about the Talos provider, which sends configurations to machines and schematics to the Image
 * Factory.
 */
export function talosProvider(component: pulumi.ComponentResource): string | undefined {
  const given = component.getProvider("talos:machine/configurationApply:ConfigurationApply");
  const { __version: own } = (given ?? {}) as { __version?: string };
  const sdk = versionOfSdk();
  const version = own ?? sdk;
  return version === undefined
    ? undefined
    : `Talos provider: ${version}${own === undefined ? ", of @pulumiverse/talos" : ""}`;
}

/** Version of the plugin that the provider's SDK needs; each of its resources names it. */
function versionOfSdk(): string | undefined {
  try {
    const file = createRequire(__filename).resolve("@pulumiverse/talos/package.json");
    const { version, pulumi: own } = JSON.parse(fs.readFileSync(file, "utf8")) as {
      version?: string;
      pulumi?: { version?: string };
    };
    return own?.version ?? version;
  } catch {
    return undefined;
  }
}
