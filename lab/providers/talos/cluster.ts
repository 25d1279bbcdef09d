import { parse } from "yaml";
import { parseDuration } from "../../../components/recipe/rules/duration";
import type { CallContext, Properties } from "../provider";
import { secret, UNKNOWN } from "../values";
import { limitOf, type Tools, untilDone } from "./machine";
import type { Resource } from "./resource";
import { endsWithin } from "./secrets";

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
 * pkg/talos/talos_cluster_kubeconfig_resource.go: fetched once, and again when its certificate is about to end.
 */
export const kubeconfig: Resource = {
  create: async (tools, inputs, { preview, timeoutSeconds, context }) => {
    if (preview) return { id: "", outputs: { ...withDefaults(inputs), ...unknown } };
    const { name, ...outputs } = await fetchKubeconfig(
      tools,
      inputs,
      limitOf(tools, inputs, "create", timeoutSeconds),
      context,
    );
    return { id: name, outputs: { ...withDefaults(inputs), ...outputs } };
  },

  stale: (tools, outputs, inputs) =>
    endsSoon(tools, outputs, inputs)
      ? { changes: true, replaces: [], detailed: { kubeconfigRaw: "update" } }
      : undefined,

  // Other arguments alone fetch nothing (Update): what was fetched stays, until its certificate is about to end.
  update: async (tools, inputs, { preview, timeoutSeconds, context }) => {
    const { oldOutputs } = context;
    if (!endsSoon(tools, oldOutputs, inputs)) return { ...withDefaults(inputs), ...kept(oldOutputs) };
    if (preview) return { ...withDefaults(inputs), ...unknown };
    const limit = limitOf(tools, inputs, "update", timeoutSeconds);
    const { name: _name, ...outputs } = await fetchKubeconfig(tools, inputs, limit, context);
    return { ...withDefaults(inputs), ...outputs };
  },
};

function endsSoon(tools: Tools, outputs: Properties, inputs: Properties): boolean {
  const field = "certificateRenewalDuration";
  const left = parseDuration(String(withDefaults(inputs)[field]), field);
  return endsWithin(tools, outputs["kubernetesClientConfiguration"], left);
}

/** What was fetched before, its secrets marked again. */
function kept({ kubeconfigRaw, kubernetesClientConfiguration }: Properties): Properties {
  const client = kubernetesClientConfiguration as Properties | undefined;
  return {
    kubeconfigRaw: secret(kubeconfigRaw),
    kubernetesClientConfiguration: { ...client, clientKey: secret(client?.["clientKey"]) },
  };
}

const unknown = { kubeconfigRaw: UNKNOWN, kubernetesClientConfiguration: UNKNOWN };

const withEndpoint = ({ clientConfigurationWo: _never, ...inputs }: Properties): Properties => ({
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
