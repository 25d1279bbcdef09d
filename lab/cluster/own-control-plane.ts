import * as fs from "node:fs";
import * as path from "node:path";
import { parse, stringify } from "yaml";
import type { Talosctl } from "../../components/clients/talos/talosctl";
import type { ControlPlane } from "../controlplane";
import { Cluster } from "../kubernetes/cluster";
import { untilSeen } from "../until";

/** Seconds in which a machine's own control plane must serve, which takes minutes where the machine is emulated instruction by instruction. */
const startSeconds = 1500;

/**
 * What the owner of a machine writes whose control plane starts on a slow computer, out of the lab's images alone: nothing competes with
 * its controllers, so they need no leases, which they would lose.
 */
export const slowControlPlane: object = {
  cluster: {
    ...{ proxy: { disabled: true }, coreDNS: { disabled: true }, network: { cni: { name: "none" } } },
    controllerManager: { extraArgs: { "leader-elect": "false" } },
    scheduler: { extraArgs: { "leader-elect": "false" } },
  },
};

/** A control plane that is a machine of the stack, and how it is reached. */
export interface OnMachine {
  talosctl: Talosctl;
  /** The machine's own address. */
  address: string;
  /** Where its Kubernetes API is on this computer. */
  kubernetes: string;
  /** File of the cluster's secrets (`talosctl gen secrets`). */
  secrets: string;
  /** Folder for its kubeconfig. Must not exist. */
  dir: string;
  signal: AbortSignal;
}

/** Bootstraps the cluster of a machine that has its configuration, and waits until it serves. */
export async function bootstrapOn({
  talosctl,
  address,
  kubernetes,
  secrets,
  dir,
  signal,
}: OnMachine): Promise<ControlPlane> {
  fs.mkdirSync(dir, { mode: 0o700 });
  const file = (name: string): string => path.join(dir, name);
  const call = (...args: string[]): Promise<string> => talosctl.run([...args, "--nodes", address], 60_000);
  const patience = { seconds: startSeconds, every: 3000, signal };
  const known =
    <T>(work: () => Promise<T>): (() => Promise<T | Error>) =>
    () =>
      work().catch((error: Error) => error);
  const well = (seen: unknown): boolean => !(seen instanceof Error);
  // A call whose answer came too late has done its work.
  const bootstrap = known(() => call("bootstrap"));
  const bootstrapped = (seen: unknown): boolean => well(seen) || /AlreadyExists/.test((seen as Error).message);
  await untilSeen("the cluster is bootstrapped", patience, bootstrap, bootstrapped);
  const kubeconfig = known(() => call("kubeconfig", "-", "--merge=false"));
  const fetched = await untilSeen("its kubeconfig is there", patience, kubeconfig, well);
  const config = parse(fetched as string) as { clusters: { cluster: { server: string } }[] };
  const server = `https://${kubernetes}`;
  for (const { cluster } of config.clusters) cluster.server = server;
  const adminKubeconfig = file("kubeconfig");
  fs.writeFileSync(adminKubeconfig, stringify(config), { mode: 0o600 });
  const { certs } = parse(fs.readFileSync(secrets, "utf8")) as { certs: { k8s: { crt: string; key: string } } };
  for (const kind of ["crt", "key"] as const)
    fs.writeFileSync(file(`ca.${kind}`), Buffer.from(certs.k8s[kind], "base64"), { mode: 0o600 });
  const cluster = Cluster.of(adminKubeconfig);
  const ready = known(() => cluster.request({ path: "/api/v1/namespaces/kube-system", signal }));
  try {
    await untilSeen("its API server serves", patience, ready, well);
  } finally {
    cluster.close();
  }
  return {
    ...{ server, adminKubeconfig, pki: dir, caCert: file("ca.crt"), caKey: file("ca.key"), nodes: file("nodes.sock") },
    restartControllers: () => Promise.resolve(), // its garbage collector learns of new kinds within 30 s
    stop: () => Promise.resolve(), // it ends with its machine
  };
}
