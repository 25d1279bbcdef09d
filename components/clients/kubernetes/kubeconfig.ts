import * as fs from "node:fs";
import type { Cluster, KubeConfig, User } from "@kubernetes/client-node";
import { boundedYaml } from "../../recipe/rules/yaml";
import { listAt, valueAt } from "../../recipe/mapping";
import { entryOf } from "../kubeconfig-entry";

/** A user of a kubeconfig, with a field that the Kubernetes client drops. */
export interface KubeconfigUser extends User {
  /** File with the token. The program that writes the file may replace the token at any time. */
  tokenFile?: string;
}

/** A cluster of a kubeconfig, with a field that the Kubernetes client drops. */
export interface KubeconfigCluster extends Cluster {
  /** Value of the cluster's extension `client.authentication.k8s.io/exec`, for a credential plugin. */
  execConfig?: unknown;
}

/**
 * Parses a kubeconfig. Skips incomplete entries. The Kubernetes client is loaded only here: without it, a run that
 * calls only machines starts in half the time.
 *
 * @throws Error if the text names no cluster, or if a token's file cannot be read.
 */
export function readKubeconfig(text: string): KubeConfig {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- the build bundles it
  const { KubeConfig: Config } = require("@kubernetes/client-node") as {
    KubeConfig: typeof KubeConfig;
  };
  const config = new Config();
  const content = contentOf(text);
  config.loadFromString(text, { onInvalidEntry: "filter" });
  if (config.clusters.length === 0) throw new Error(noKubeconfig);
  config.clusters = config.clusters.map((cluster) => withExecConfig(cluster, content));
  config.users = config.users.map((user) => withTokenFile(user, content));
  readToken(config.getCurrentUser());
  return config;
}

/** Message for another kind of file: an empty file, a web page, a talosconfig. */
const noKubeconfig = "it contains no cluster, so it is not a kubeconfig";

function contentOf(text: string): unknown {
  let content: unknown;
  try {
    content = boundedYaml(text);
  } catch (error) {
    throw new Error("it is not YAML", { cause: error }); // the parser's message quotes the text
  }
  if (listAt(content, "clusters").length === 0) throw new Error(noKubeconfig);
  return content;
}

function withTokenFile(user: KubeconfigUser, content: unknown): KubeconfigUser {
  const tokenFile = valueAt(entryOf(content, "users", user.name), "user", "tokenFile");
  return typeof tokenFile === "string" && tokenFile !== "" ? { ...user, tokenFile } : user;
}

function withExecConfig(cluster: KubeconfigCluster, content: unknown): KubeconfigCluster {
  const extensions = listAt(entryOf(content, "clusters", cluster.name), "cluster", "extensions");
  const extension = extensions.find(
    (candidate) => candidate["name"] === "client.authentication.k8s.io/exec",
  )?.["extension"];
  return extension === undefined ? cluster : { ...cluster, execConfig: extension };
}

/**
 * Reads a user's token from the token's file. This token overrides one in the kubeconfig. If the file cannot be read, a
 * token that is already known stays in use (client-go, transport/round_trippers.go and token_source.go).
 *
 * @throws Error if the file cannot be read and no token is known.
 */
export function readToken(user: KubeconfigUser | null): void {
  if (user?.tokenFile === undefined) return;
  try {
    const token = fs.readFileSync(user.tokenFile, "utf8").trim();
    if (token === "") throw new Error(`${user.tokenFile} is empty`);
    Object.assign(user, { token });
  } catch (error) {
    if (user.token) return;
    throw new Error(`the token of user ${user.name}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
