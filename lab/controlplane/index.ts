import { spawn } from "node:child_process";
import * as fs from "node:fs";
import * as path from "node:path";
import { Cluster } from "../kubernetes/cluster";
import { answers, freePort } from "../loopback";
import { takeTurn } from "../session/turn";
import { until } from "../until";
import { type ComponentName, configurations, flagsOf } from "./configuration";
import { runKubeadm } from "./kubeadm";

/** A Kubernetes control plane that runs on this computer. */
export interface ControlPlane {
  server: string;
  /** Path of a kubeconfig whose user is in `system:masters`; certificates are embedded. */
  adminKubeconfig: string;
  /** Paths of the cluster's authority, PEM (EC): kubelets' client certificates are signed with it. */
  caCert: string;
  caKey: string;
  /** Path of the folder of all its keys, laid out as kubeadm does. */
  pki: string;
  /**
   * Path of the socket through which its API server reaches addresses in the cluster's network (`CONNECT
   * address:port`).
   */
  nodes: string;
  /**
   * Restarts the controller manager if the defined kinds have changed since its last start. Its garbage collector lists
   * the existing kinds when it starts, and then every 30 s (kubernetes, cmd/kube-controller-manager/app/core.go,
   * `syncPeriod`).
   */
  learnKinds(): Promise<void>;
  /** Restarts the controller manager, and resolves when its garbage collector works. */
  restartControllers(): Promise<void>;
  /** Stops every component and removes the folder. May be called again. */
  stop(): Promise<void>;
}

/**
 * Message of the controller manager once its garbage collector knows every existing kind (kubernetes,
 * pkg/controller/garbagecollector).
 */
const collects = "Proceeding to collect garbage";

/**
 * Starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler with keys that kubeadm makes, and resolves
 * once pods are admitted. They end with this process, however it ends.
 *
 * @param dir folder for keys, data and logs. It must not exist, since it is removed at the end.
 * @param names names in its certificate, in addition to 127.0.0.1 and localhost.
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
  const endTurn = await takeTurn({
    ...(signal && { signal }),
    onWait: (atOnce) =>
      console.error(`waiting until fewer than ${atOnce} labs run on this computer`),
  });
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
    // In reverse order, so that no component loses its server.
    for (const component of components) await component.stop();
    await fs.promises.rm(folder, { recursive: true, force: true });
    endTurn();
  };
  const adminKubeconfig = file("super-admin.conf");
  let cluster: Cluster;
  let controllers: Component;
  let known: string;
  try {
    for (const [name, text] of configurations(layout))
      fs.writeFileSync(file(name), text, { mode: 0o600 });
    await runKubeadm(binary, folder, "certs", "all");
    await runKubeadm(binary, folder, "kubeconfig", "all", "--kubeconfig-dir", folder);
    cluster = Cluster.of(adminKubeconfig);
    const serves = (path: string): Promise<boolean> =>
      cluster.text(path, path).then(
        () => true,
        () => false,
      );
    await start("etcd").until(() => answers(etcd), signal);
    await start("kube-apiserver").until(() => serves("/readyz"), signal);
    start("kube-scheduler");
    known = await definedKinds(cluster);
    controllers = start("kube-controller-manager");
    // The controllers create the default service account, which every pod needs.
    await controllers.until(
      () => serves("/api/v1/namespaces/default/serviceaccounts/default"),
      signal,
    );
  } catch (error) {
    await stop();
    throw error;
  }
  const restartControllers = async (): Promise<void> => {
    await controllers.stop();
    controllers = start("kube-controller-manager");
    await controllers.until(() => controllers.log().includes(collects), signal);
  };
  return {
    server: `https://127.0.0.1:${server}`,
    adminKubeconfig,
    stop,
    nodes: file("nodes.sock"),
    caCert: file("pki/ca.crt"),
    caKey: file("pki/ca.key"),
    pki: file("pki"),
    restartControllers,
    learnKinds: async () => {
      const kinds = await definedKinds(cluster);
      if (kinds === known) return;
      known = kinds;
      await restartControllers();
    },
  };
}

/** A text that is another one when clients have defined other kinds, or other versions of them. */
async function definedKinds(cluster: Cluster): Promise<string> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const definitions = await cluster.list<Definition>(path, path);
  return definitions
    .flatMap(({ metadata, spec }) => spec.versions.map(({ name }) => `${metadata.uid} ${name}`))
    .sort()
    .join();
}

interface Definition {
  metadata: { uid: string };
  spec: { versions: readonly { name: string }[] };
}

/**
 * Seconds within which a component must serve. It takes 4 on two idle cores, so after a minute and a half the computer
 * is overloaded.
 */
const startSeconds = 90;

const quoted = 6_000;

/** A component in a process of its own. It ends with this process, since its standard input then ends. */
interface Component {
  /**
   * Waits until a condition that needs the component holds. Throws an error with the end of its log if the component
   * ends first or takes too long.
   */
  until(holds: () => boolean | Promise<boolean>, signal?: AbortSignal): Promise<void>;
  log(): string;
  /** Kills it: its state is not needed any more. */
  stop(): Promise<void>;
}

/** Starts a component of the `controlplane` binary, its output going to a file. */
function startComponent(
  binary: string,
  name: string,
  flags: readonly string[],
  file: string,
): Component {
  const log = fs.openSync(file, "w", 0o600);
  // etcd also reads its flags from ETCD_* variables, and refuses unknown ones.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([variable]) => !variable.startsWith("ETCD_")),
  );
  // An own process group: Ctrl-C in a terminal reaches only the lab, which then stops its parts in order.
  const child = spawn(binary, ["child", name, ...flags], {
    env,
    stdio: ["pipe", log, log],
    detached: true,
  });
  fs.closeSync(log);
  child.stdin!.on("error", () => {});
  let end: string | undefined;
  const ended = new Promise<void>((resolve) => {
    child.once("error", (error) => resolve(void (end = error.message)));
    child.once("close", (code, signal) => resolve(void (end ??= signal ?? `exit status ${code}`)));
  });
  const words = (): string => fs.readFileSync(file, "utf8");
  return {
    log: words,
    until: async (holds, signal) => {
      const look = async (): Promise<string> => end ?? ((await holds()) ? "holds" : "");
      const patience = {
        seconds: startSeconds,
        every: 50,
        ...(signal === undefined ? {} : { signal }),
      };
      const { seen } = await until(patience, look, (seen) => seen !== "");
      if (seen === "holds") return;
      throw new Error(
        `${name}: ${seen === "" ? `does not work after ${startSeconds} s` : `ended (${seen})`}, and a control plane without it cannot serve; ` +
          `the end of its log says what to fix:\n${words().slice(-quoted).trim()}`,
      );
    },
    stop: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
