import * as fs from "node:fs";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import type { Talosctl } from "../../components/clients/talos/talosctl";
import type { ControlPlane } from "../controlplane";
import { Cluster } from "../kubernetes/cluster";
import { untilSeen } from "../until";

/** Seconds within which a machine's own control plane must serve. Without KVM that takes minutes. */
const startSeconds = 1500;

/**
 * A control plane on a machine of the stack. Its kubeconfig exists once a client has fetched it from Talos ({@link
 * keepKubeconfig}).
 */
export function controlPlaneOnMachine(dir: string, kubernetes: string): ControlPlane {
  const file = (name: string): string => path.join(dir, name);
  fs.mkdirSync(dir, { mode: 0o700 });
  return {
    server: `https://${kubernetes}`,
    adminKubeconfig: file("kubeconfig"),
    pki: dir,
    nodes: file("nodes.sock"),
    caCert: file("ca.crt"),
    caKey: file("ca.key"),
    learnKinds: () => Promise.resolve(), // its garbage collector learns of new kinds within 30 s
    restartControllers: () => Promise.resolve(),
    stop: () => Promise.resolve(), // it ends with its machine
  };
}

/** Saves the kubeconfig from Talos with the address at which this computer reaches the API, and returns it. */
export function saveKubeconfig({ server, adminKubeconfig }: ControlPlane, text: string): string {
  const config = parse(text) as { clusters: { cluster: { server: string } }[] };
  for (const { cluster } of config.clusters) cluster.server = server;
  const saved = stringify(config);
  fs.writeFileSync(adminKubeconfig, saved, { mode: 0o600 });
  return saved;
}

/** Facts for bootstrapping a machine's cluster. */
interface Bootstrap {
  talosctl: Talosctl;
  address: string;
  signal: AbortSignal;
}

/** Bootstraps the cluster of a configured machine, and waits until its API serves. */
export async function bootstrapCluster(
  controlPlane: ControlPlane,
  { talosctl, address, signal }: Bootstrap,
): Promise<void> {
  const runOnMachine = (...args: string[]): Promise<string> =>
    talosctl.run([...args, "--nodes", address], 60_000);
  const patience = { seconds: startSeconds, every: 3000, signal };
  const resultOrError =
    <T>(work: () => Promise<T>): (() => Promise<T | Error>) =>
    () =>
      work().catch((error: Error) => error);
  const isResult = (result: unknown): boolean => !(result instanceof Error);
  // A call whose answer came too late has done its work.
  const bootstrap = resultOrError(() => runOnMachine("bootstrap"));
  const isBootstrapped = (result: unknown): boolean =>
    isResult(result) || /AlreadyExists/.test((result as Error).message);
  await untilSeen("the cluster is bootstrapped", patience, bootstrap, isBootstrapped);
  const fetchKubeconfig = resultOrError(() => runOnMachine("kubeconfig", "-", "--merge=false"));
  const fetched = await untilSeen("its kubeconfig is there", patience, fetchKubeconfig, isResult);
  saveKubeconfig(controlPlane, fetched as string);
  const cluster = Cluster.of(controlPlane.adminKubeconfig);
  const readNamespace = resultOrError(() =>
    cluster.text("its namespaces", "/api/v1/namespaces/kube-system"),
  );
  await untilSeen("its API server serves", patience, readNamespace, isResult);
}
