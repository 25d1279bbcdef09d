import { defined } from "../../recipe/mapping";
import { startGroup, endGroup } from "../process-groups";

/** Part of a kubeconfig that names a credential plugin (client.authentication.k8s.io, ExecConfig). */
export interface ExecConfig {
  apiVersion?: string;
  command?: string;
  args?: string[] | null;
  env?: { name: string; value: string }[] | null;
  /** Whether the plugin receives facts about the cluster. */
  provideClusterInfo?: boolean;
}

/** Facts about the cluster for a plugin (client.authentication.k8s.io, Cluster). */
export interface ExecCluster {
  server: string;
  "tls-server-name"?: string;
  "insecure-skip-tls-verify"?: boolean;
  /** PEM in base64. */
  "certificate-authority-data"?: string;
  "proxy-url"?: string;
  /** Value for the plugin from the cluster's extension `client.authentication.k8s.io/exec`. */
  config?: unknown;
}

/** Credentials that a plugin prints. */
export interface ExecCredential {
  token?: string;
  clientCertificateData?: string;
  clientKeyData?: string;
  /** Expiry (RFC 3339). */
  expirationTimestamp?: string;
}

/**
 * Runs a kubeconfig's credential plugin. The Kubernetes client could run the plugin too, but it sets no time limit and
 * never ends the plugin.
 *
 * @param limit Milliseconds after which the plugin and its child processes are killed.
 * @param cluster facts about the cluster for the plugin. Default: none.
 * @throws Error with the reason. The error never quotes the plugin's output, which may contain a credential.
 */
export async function execCredential(
  { apiVersion = "client.authentication.k8s.io/v1", command = "", args, env }: ExecConfig,
  limit: number,
  cluster?: ExecCluster,
): Promise<ExecCredential> {
  const name = `the credential plugin \`${command}\``;
  const info = {
    apiVersion,
    kind: "ExecCredential",
    spec: { ...defined({ cluster }), interactive: false },
  };
  const pluginEnv = Object.fromEntries((env ?? []).map(({ name: key, value }) => [key, value]));
  const child = startGroup(command, args ?? [], {
    env: { ...process.env, KUBERNETES_EXEC_INFO: JSON.stringify(info), ...pluginEnv },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [outputChunks, errorChunks]: Buffer[][] = [[], []];
  child.stdout!.on("data", (chunk: Buffer) => outputChunks!.push(chunk));
  child.stderr!.on("data", (chunk: Buffer) => errorChunks!.push(chunk));
  let timer: NodeJS.Timeout | undefined;
  try {
    const status = await new Promise<string>((resolve, reject) => {
      timer = setTimeout(
        () => reject(new Error(`${name} did not end within ${limit / 1000} s`)),
        limit,
      );
      child.on("error", ({ message }) => reject(new Error(`${name} does not start: ${message}`)));
      child.on("close", (code, signal) => resolve(signal ?? `exit ${code!}`)); // Node gives one of the two
    });
    if (status !== "exit 0") {
      const lastErrorLine = Buffer.concat(errorChunks!).toString().trim().split("\n").at(-1) ?? "";
      throw new Error(
        `${name} failed (${status})${lastErrorLine === "" ? "" : `: ${lastErrorLine}`}`,
      );
    }
    return credentialOf(Buffer.concat(outputChunks!).toString(), name);
  } finally {
    clearTimeout(timer);
    endGroup(child);
  }
}

function credentialOf(text: string, name: string): ExecCredential {
  let printed: { status?: ExecCredential };
  try {
    printed = JSON.parse(text) as { status?: ExecCredential };
  } catch {
    throw new Error(`${name} did not print an ExecCredential`);
  }
  const { token, clientCertificateData } = printed.status ?? {};
  if (token === undefined && clientCertificateData === undefined)
    throw new Error(`${name} printed an ExecCredential without a credential`);
  return printed.status!;
}
