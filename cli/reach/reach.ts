import type * as https from "node:https";
import type { KubeConfig } from "@kubernetes/client-node";
import { certificateProblem } from "../../components/clients/certificates";
import { defined } from "../../components/recipe/mapping";
import { inTime } from "../../components/clients/clock";
import { execCredential, type ExecConfig } from "./exec-credential";
import type { Reach } from "./kubernetes-api";

/**
 * How to reach the API server of a kubeconfig's context; runs its credential plugin, if it has one.
 *
 * @param limit Milliseconds that a credential plugin has.
 * @throws Error when the kubeconfig leads nowhere, or the plugin gives no credential.
 */
export async function reachOf(kubeconfig: KubeConfig, now: Date, limit: number): Promise<Reach> {
  const cluster = kubeconfig.getCurrentCluster();
  const user = kubeconfig.getCurrentUser();
  const context = kubeconfig.getCurrentContext();
  if (!cluster?.server) throw new Error(`kubeconfig: context ${context || "(none)"} names no cluster with a server`);
  if (["gcp", "azure"].includes(String(user?.authProvider?.name)))
    throw new Error(
      `kubeconfig: user ${user!.name} authenticates by auth-provider ${user!.authProvider!.name}, which Kubernetes dropped in 1.26; let its tool write an exec entry`,
    );
  const options: https.RequestOptions = {};
  const usable = await prepared(kubeconfig, limit);
  // An OIDC provider is asked for a new token.
  const late = (): Error => new Error(`kubeconfig: no credentials within ${limit / 1000} s`);
  await inTime(usable.applyToHTTPSOptions(options), limit, late);
  const problem = options.cert === undefined ? undefined : certificateProblem(String(options.cert), now);
  const whose = `kubeconfig: the client certificate of user ${user?.name ?? "?"} (context ${context})`;
  return { server: cluster.server, options, ...defined({ problem: problem && `${whose} ${problem}` }) };
}

/** The same kubeconfig as the client takes it, with what its user's credential plugin gives in the plugin's place. */
async function prepared(kubeconfig: KubeConfig, limit: number): Promise<KubeConfig> {
  const user = kubeconfig.getCurrentUser();
  // The client refuses plain HTTP (`kubectl proxy`) unless it is told that nothing is to be verified there.
  const clusters = kubeconfig.clusters.map((one) =>
    one.server.startsWith("http:") ? { ...one, skipTLSVerify: true } : one,
  );
  if (!user?.exec) return copyOf(kubeconfig, clusters, kubeconfig.users);
  const { exec, ...rest } = user;
  const credential = await execCredential(exec as ExecConfig, limit);
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  const { token, clientCertificateData: certificate, clientKeyData: key } = credential;
  const given = defined({ token, certData: certificate && base64(certificate), keyData: key && base64(key) });
  return copyOf(kubeconfig, clusters, [{ ...rest, ...given }]);
}

function copyOf(kubeconfig: KubeConfig, clusters: KubeConfig["clusters"], users: KubeConfig["users"]): KubeConfig {
  const { contexts, currentContext } = kubeconfig;
  const made = new (kubeconfig.constructor as new () => KubeConfig)();
  made.loadFromOptions({ clusters, contexts, currentContext, users });
  return made;
}
