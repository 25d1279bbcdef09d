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
  /** Whether it is a test run's, where labs side by side keep every core busy. */
  lent: boolean;
  /** Stops every component and removes the folder, or gives a lent one back. May be called again. */
  stop(): Promise<void>;
}

/** One whose objects can all be taken away again, so that the next lab finds it unused. */
export interface RenewableControlPlane extends ControlPlane {
  /** Puts every object back as it was first. Whoever used the cluster has to be gone. Rejects when it has ended or does not come to rest. */
  renew(): Promise<Renewed>;
  /** Halts every component, or has it go on: one that nobody uses takes 2 % of a core. One that rests answers nothing. */
  rest(rests: boolean): Promise<void>;
}

/** What a renewal found to do. */
export interface Renewed {
  /** Objects that had come. */
  removed: number;
  /** Objects that had changed or gone. */
  restored: number;
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
export async function startControlPlane(options: ControlPlaneOptions): Promise<ControlPlane> {
  return (await start(options, [])).plane;
}

/** As {@link startControlPlane}, some tenths of a second later: one that can be lent to one lab after the other. */
export async function startRenewableControlPlane(options: ControlPlaneOptions): Promise<RenewableControlPlane> {
  const { plane, tell } = await start(options, ["--renewable"]);
  const rest = async (rests: boolean): Promise<void> => void (await tell(rests ? "rest" : "wake"));
  return { ...plane, renew: () => tell("renew"), rest };
}

/** What a control plane is told on its standard input (lab/controlplane/up.go, `obey`). */
type Word = "restart" | "renew" | "rest" | "wake";

async function start(
  { binary, dir: folder, ...guard }: ControlPlaneOptions,
  flags: string[],
): Promise<{ plane: ControlPlane; tell: (word: Word) => Promise<Renewed> }> {
  const dir = path.resolve(folder);
  let told: (line: string) => void = () => {};
  const options: GuardOptions = { name: "control plane", ...guard, onLine: (line) => told(line) };
  const child = await spawnGuarded<Report>(binary, ["up", "--dir", dir, ...flags], options);
  const { server, ca, adminKubeconfig, nodes, pid } = child.ready;
  const { ended } = child;
  const ask = async (word: Word): Promise<Renewed> => {
    const line = new Promise<string>((resolve) => (told = resolve));
    child.write(`${word}\n`);
    const answer = await Promise.race([line, ended]);
    if (typeof answer !== "string") throw new Error(`the control plane ended (${describe(answer)}): ${answer.tail}`);
    return JSON.parse(answer) as Renewed;
  };
  let answered: Promise<unknown> = Promise.resolve();
  const tell = (word: Word): Promise<Renewed> => {
    const answer = answered.then(() => ask(word));
    answered = answer.catch(() => {});
    return answer;
  };
  const restartControllers = async (): Promise<void> => void (await tell("restart"));
  const stop = async (): Promise<void> => {
    await child.stop();
    // It removes the folder itself, unless it had to be killed.
    await fs.rm(dir, { recursive: true, force: true });
  };
  const plane = {
    ...{ server, adminKubeconfig, caCert: ca.cert, caKey: ca.key, nodes, pid, ended },
    ...{ lent: false, restartControllers, stop },
  };
  return { plane, tell };
}
