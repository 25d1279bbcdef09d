import { parse } from "yaml";
import type { CallContext, Properties } from "../provider";
import { secret, UNKNOWN } from "../values";
import { limitOf, type Tools, untilDone } from "./machine";
import type { Resource } from "./resource";

/** `talos:machine/bootstrap:Bootstrap`: done once; afterwards nothing is compared and nothing undone. */
export const bootstrap: Resource = {
  create: async (tools, inputs, { preview, timeoutSeconds, context }) => {
    const timeout = limitOf(tools, inputs, "create", timeoutSeconds);
    if (!preview)
      await untilDone(tools, inputs, { what: "bootstrapping etcd", args: () => ["bootstrap"], timeout }, context);
    return { id: "machine_bootstrap", outputs: withEndpoint(inputs) };
  },
  update: (_tools, inputs) => Promise.resolve(withEndpoint(inputs)),
};

/**
 * `talos:cluster/kubeconfig:Kubeconfig`. Source: terraform-provider-talos v0.11.0,
 * pkg/talos/talos_cluster_kubeconfig_resource.go: fetched once. That it is fetched again when its certificate is about to end is not
 * emulated.
 */
export const kubeconfig: Resource = {
  create: async (tools, inputs, { preview, timeoutSeconds, context }) => {
    if (preview)
      return {
        id: "",
        outputs: { ...withDefaults(inputs), kubeconfigRaw: UNKNOWN, kubernetesClientConfiguration: UNKNOWN },
      };
    const { name, ...outputs } = await fetchKubeconfig(
      tools,
      inputs,
      limitOf(tools, inputs, "create", timeoutSeconds),
      context,
    );
    return { id: name, outputs: { ...withDefaults(inputs), ...outputs } };
  },

  // Other arguments fetch nothing (Update): what was fetched stays.
  update: async (_tools, inputs, { context: { oldOutputs } }) => ({ ...withDefaults(inputs), ...kept(oldOutputs) }),
};

/** What was fetched before, its secrets marked again. */
function kept({ kubeconfigRaw, kubernetesClientConfiguration }: Properties): Properties {
  const client = kubernetesClientConfiguration as Properties | undefined;
  return {
    kubeconfigRaw: secret(kubeconfigRaw),
    kubernetesClientConfiguration: { ...client, clientKey: secret(client?.["clientKey"]) },
  };
}

const withEndpoint = (inputs: Properties): Properties => ({
  ...inputs,
  endpoint: inputs["endpoint"] ?? inputs["node"],
});

const withDefaults = (inputs: Properties): Properties => ({
  ...withEndpoint(inputs),
  certificateRenewalDuration: inputs["certificateRenewalDuration"] ?? "720h",
});

async function fetchKubeconfig(tools: Tools, inputs: Properties, timeout: number, context: CallContext) {
  const what = "fetching the kubeconfig";
  const args = (): string[] => ["kubeconfig", "-", "--merge=false"];
  const { stdout } = await untilDone(tools, inputs, { what, args, timeout }, context);
  return kubeconfigOutputs(stdout);
}

/** A kubeconfig's current context, taken apart into the resource's outputs; `name` is its cluster. */
export function kubeconfigOutputs(text: string): {
  name: string;
  kubeconfigRaw: unknown;
  kubernetesClientConfiguration: Properties;
} {
  const config = parse(text) as Record<string, any>;
  const entry = (list: string, name: string): Record<string, any> =>
    (config[list] as Record<string, any>[]).find((each) => each["name"] === name) ?? {};
  const { cluster: name, user } = entry("contexts", config["current-context"])["context"] as Record<string, string>;
  const cluster = entry("clusters", name ?? "")["cluster"];
  const client = entry("users", user ?? "")["user"];
  return {
    name: name ?? "",
    kubeconfigRaw: secret(text),
    kubernetesClientConfiguration: {
      host: cluster["server"],
      caCertificate: cluster["certificate-authority-data"],
      clientCertificate: client["client-certificate-data"],
      clientKey: secret(client["client-key-data"]),
    },
  };
}
