import { execFile } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { promisify } from "node:util";
import { Cluster } from "../kubernetes/cluster";
import { answers, freePort } from "../loopback";
import { type Component, startComponent } from "./component";
import { type ComponentName, configurations, fileOf, flagsOf, type Layout, serverOf } from "./configuration";

/** A Kubernetes control plane that runs on this machine. */
export interface ControlPlane {
  /** Address of its API, `https://127.0.0.1:PORT`. */
  server: string;
  /** Path of a kubeconfig whose user is in `system:masters`; certificates are embedded. */
  adminKubeconfig: string;
  /** Path of the certificate of the cluster's authority, PEM. */
  caCert: string;
  /** Path of the authority's key, PEM (EC): kubelets' client certificates are signed with it. */
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

/** How to start a control plane. */
export interface ControlPlaneOptions {
  /** Folder for keys, data and logs. Must not exist, for it is removed at the end. */
  dir: string;
  /** Path of the `controlplane` binary, see `provideTools`. */
  binary: string;
  /** Names and addresses that clients may know its API by, beside 127.0.0.1 and localhost. */
  names?: readonly string[];
  /** Ends the start. */
  signal?: AbortSignal;
}

/** What the controller manager says once its garbage collector knows every kind that there is (kubernetes, pkg/controller/garbagecollector). */
const collects = "Proceeding to collect garbage";

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler with keys that kubeadm makes, and resolves once pods are
 * admitted. They end with this process, however it ends.
 */
export async function startControlPlane({
  binary,
  dir,
  names = [],
  signal,
}: ControlPlaneOptions): Promise<ControlPlane> {
  signal?.throwIfAborted();
  const folder = path.resolve(dir);
  fs.mkdirSync(path.dirname(folder), { recursive: true });
  fs.mkdirSync(folder, { mode: 0o700 });
  const layout: Layout = { folder, names, server: await freePort(), etcd: await freePort(), peer: await freePort() };
  const components: Component[] = [];
  const start = (name: ComponentName): Component => {
    const component = startComponent(binary, name, flagsOf(name, layout), fileOf(layout, `${name}.log`));
    components.unshift(component);
    return component;
  };
  const stop = async (): Promise<void> => {
    // The last started first, so that none sees its server go.
    for (const component of components) await component.stop();
    await fs.promises.rm(folder, { recursive: true, force: true });
  };
  const adminKubeconfig = fileOf(layout, "super-admin.conf");
  let controllers: Component;
  let cluster: Cluster | undefined;
  try {
    for (const [file, text] of Object.entries(configurations(layout)))
      fs.writeFileSync(fileOf(layout, file), text, { mode: 0o600 });
    const make = (...what: string[]): Promise<unknown> =>
      promisify(execFile)(binary, ["kubeadm", "init", "phase", ...what, "--config", fileOf(layout, "kubeadm.yaml")]);
    await make("certs", "all");
    await make("kubeconfig", "all", "--kubeconfig-dir", folder);
    const asked = (cluster = Cluster.of(adminKubeconfig));
    const serves = (path: string): Promise<boolean> =>
      asked.request({ path }).then(
        () => true,
        () => false,
      );
    await start("etcd").until(() => answers(layout.etcd), signal);
    await start("kube-apiserver").until(() => serves("/readyz"), signal);
    start("kube-scheduler");
    controllers = start("kube-controller-manager");
    // The controllers make the account without which no pod is admitted.
    await controllers.until(() => serves("/api/v1/namespaces/default/serviceaccounts/default"), signal);
  } catch (error) {
    await stop();
    throw error;
  } finally {
    cluster?.close();
  }
  return {
    ...{ server: serverOf(layout), adminKubeconfig, stop, nodes: fileOf(layout, "nodes.sock") },
    ...{ caCert: fileOf(layout, "pki/ca.crt"), caKey: fileOf(layout, "pki/ca.key"), pki: fileOf(layout, "pki") },
    restartControllers: async () => {
      await controllers.stop();
      controllers = start("kube-controller-manager");
      await controllers.until(() => controllers.log().includes(collects), signal);
    },
  };
}
