import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import { Cluster } from "../kubernetes/cluster";
import { answers, freePort } from "../loopback";
import { type Component, startComponent } from "./component";
import { type ComponentName, configurations, flagsOf } from "./configuration";

/** A Kubernetes control plane that runs on this machine. */
export interface ControlPlane {
  server: string;
  /** Path of a kubeconfig whose user is in `system:masters`; certificates are embedded. */
  adminKubeconfig: string;
  /** Paths of the cluster's authority, PEM (EC): kubelets' client certificates are signed with it. */
  caCert: string;
  caKey: string;
  /** Path of the folder of all its keys, laid out as kubeadm does. */
  pki: string;
  /** Path of the socket at which its API server asks for a way to an address in the cluster's network: `CONNECT address:port`. */
  nodes: string;
  /**
   * Restarts the controller manager. Its garbage collector learns of the kinds that there are when it starts, and then every 30 s
   * (kubernetes, cmd/kube-controller-manager/app/core.go, `syncPeriod`).
   */
  restartControllers(): Promise<void>;
  /** Stops every component and removes the folder. May be called again. */
  stop(): Promise<void>;
}

/** What the controller manager says once its garbage collector knows every kind that there is (kubernetes, pkg/controller/garbagecollector). */
const collects = "Proceeding to collect garbage";

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler with keys that kubeadm makes, and resolves once pods are
 * admitted. They end with this process, however it ends. `dir`, for keys, data and logs, is made, and removed at the end; by `names`
 * clients may know the API, beside 127.0.0.1 and localhost.
 */
export async function startControlPlane({
  binary,
  dir,
  names = [],
  signal,
}: {
  binary: string;
  dir: string;
  names?: readonly string[];
  signal?: AbortSignal;
}): Promise<ControlPlane> {
  signal?.throwIfAborted();
  const folder = path.resolve(dir);
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  fs.mkdirSync(folder, { mode: 0o700 });
  const [server, etcd, peer] = [await freePort(), await freePort(), await freePort()];
  const layout = { folder, names: ["127.0.0.1", "localhost", ...names], server, etcd, peer };
  const file = (...parts: string[]): string => path.join(folder, ...parts);
  const components: Component[] = [];
  const start = (name: ComponentName): Component => {
    const component = startComponent(binary, name, flagsOf(name, layout), file(`${name}.log`));
    components.unshift(component);
    return component;
  };
  const stop = async (): Promise<void> => {
    // The last started first, so that none sees its server go.
    for (const component of components) await component.stop();
    await fs.promises.rm(folder, { recursive: true, force: true });
  };
  const adminKubeconfig = file("super-admin.conf");
  let controllers: Component;
  try {
    for (const [name, text] of configurations(layout)) fs.writeFileSync(file(name), text, { mode: 0o600 });
    const make = (...what: string[]): Promise<unknown> =>
      promisify(execFile)(binary, ["kubeadm", "init", "phase", ...what, "--config", file("kubeadm.yaml")]);
    await make("certs", "all");
    await make("kubeconfig", "all", "--kubeconfig-dir", folder);
    const cluster = Cluster.of(adminKubeconfig);
    const serves = (path: string): Promise<boolean> =>
      cluster.text(path, path).then(
        () => true,
        () => false,
      );
    await start("etcd").until(() => answers(etcd), signal);
    await start("kube-apiserver").until(() => serves("/readyz"), signal);
    start("kube-scheduler");
    controllers = start("kube-controller-manager");
    // The controllers make the account without which no pod is admitted.
    await controllers.until(() => serves("/api/v1/namespaces/default/serviceaccounts/default"), signal);
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    ...{ server: `https://127.0.0.1:${server}`, adminKubeconfig, stop, nodes: file("nodes.sock") },
    ...{ caCert: file("pki/ca.crt"), caKey: file("pki/ca.key"), pki: file("pki") },
    restartControllers: async () => {
      await controllers.stop();
      controllers = start("kube-controller-manager");
      await controllers.until(() => controllers.log().includes(collects), signal);
    },
  };
}
