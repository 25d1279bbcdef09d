import type { KubeConfig } from "@kubernetes/client-node";

/** The text of a kubeconfig, read. What reads it is loaded here and no earlier: a run that asks only machines begins in half the time. */
export function readKubeconfig(text: string): KubeConfig {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the build bundles it
  const { KubeConfig: Config } = require("@kubernetes/client-node") as { KubeConfig: typeof KubeConfig };
  const config = new Config();
  config.loadFromString(text);
  return config;
}
