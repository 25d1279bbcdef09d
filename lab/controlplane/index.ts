import * as fs from "node:fs/promises";
import * as path from "node:path";

import { describe, type Ended, type GuardOptions, spawnGuarded } from "../session/process";

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
  /** Path of the socket at which its API server asks for a way to an address in the cluster's network: `CONNECT address:port`. */
  nodes: string;
  /** Process id of the parent of all components. */
  pid: number;
  /** Resolves when it has ended, wanted or not. */
  ended: Promise<Ended>;
  /**
   * Has another controller manager follow the running one, which works until the other does. Its garbage collector learns of the kinds
   * that there are when it starts, and then every 30 s (kubernetes, cmd/kube-controller-manager/app/core.go, `syncPeriod`).
   */
  restartControllers(): Promise<void>;
  /** Stops every component and removes the folder. May be called again. */
  stop(): Promise<void>;
}

/** How to start a control plane. */
export interface ControlPlaneOptions {
  /** Folder for keys, data and logs. Must be empty or not exist; removed at the end. */
  dir: string;
  /** Path of the `controlplane` binary, see `provideTools`. */
  binary: string;
  /** Stops it. */
  signal?: AbortSignal;
  /** Receives what it says on standard error. The components' own logs are in `<dir>/logs`. */
  onLog?: (line: string) => void;
}

/** What `controlplane up` prints (lab/controlplane/up.go, `report`). */
interface Report {
  server: string;
  ca: { cert: string; key: string };
  adminKubeconfig: string;
  nodes: string;
  pid: number;
}

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler, and resolves once pods are admitted.
 * They end with this process, however it ends.
 */
export async function startControlPlane({ binary, dir: folder, ...guard }: ControlPlaneOptions): Promise<ControlPlane> {
  const dir = path.resolve(folder);
  let told: (line: string) => void = () => {};
  const options: GuardOptions = { name: "control plane", ...guard, onLine: (line) => told(line) };
  const child = await spawnGuarded<Report>(binary, ["up", "--dir", dir], options);
  const { server, ca, adminKubeconfig, nodes, pid } = child.ready;
  const { ended } = child;
  const restart = async (): Promise<void> => {
    const line = new Promise<string>((resolve) => (told = resolve));
    child.write("restart\n");
    const answer = await Promise.race([line, ended]);
    if (typeof answer !== "string") throw new Error(`the control plane ended (${describe(answer)}): ${answer.tail}`);
  };
  let answered: Promise<void> = Promise.resolve();
  const restartControllers = (): Promise<void> => {
    const answer = answered.then(restart);
    answered = answer.catch(() => {});
    return answer;
  };
  const stop = async (): Promise<void> => {
    await child.stop();
    // It removes the folder itself, unless it had to be killed.
    await fs.rm(dir, { recursive: true, force: true });
  };
  return { server, adminKubeconfig, caCert: ca.cert, caKey: ca.key, nodes, pid, ended, restartControllers, stop };
}
