import { persistent, systemClock } from "../clients/clock";
import { endAll } from "../clients/process-groups";
import { Failure } from "../clients/failure";
import { SecretFiles, secretValues } from "../clients/secret-files";
import type { Credentials } from "./credentials";
import { readKubeconfig } from "../clients/kubernetes/kubeconfig";
import { KubernetesCluster } from "./cluster/cluster";
import { OmniServer } from "../clients/omni/server";
import type { Report } from "./progress";
import { type Machine, TalosMachine } from "../clients/talos/talos-machine";
import { Talosctl } from "../clients/talos/talosctl";

/** The clients that a verb uses, with the program's credentials. */
export class Clients {
  readonly omni: OmniServer;
  private readonly files = new SecretFiles();
  private readonly talosctl: Talosctl;
  private readonly omnictl: Talosctl;

  /**
   * @param isAwaited whether Pulumi still waits for the answer; false after Ctrl-C or a kill.
   * @param touches called before the first change: from then on the program finishes its work even if Pulumi is gone.
   */
  constructor(
    readonly credentials: Credentials,
    readonly report: Report,
    readonly isAwaited: () => boolean,
    readonly touches: () => void,
  ) {
    const { talosconfig, omni: environment, secrets } = credentials;
    this.talosctl = new Talosctl({
      binary: process.env["TALOS_GPU_TALOSCTL"] ?? "talosctl",
      talosconfig:
        talosconfig === undefined ? undefined : this.files.write("talosconfig", talosconfig),
      endpoint: process.env["TALOS_GPU_ENDPOINT"] || undefined,
      environment, // talosctl signs its requests to Omni with the same key
      secrets,
    });
    const binary = process.env["TALOS_GPU_OMNICTL"] ?? "omnictl";
    this.omnictl = new Talosctl({
      binary,
      name: "omnictl",
      talosconfig: undefined,
      environment,
      secrets,
    });
    this.omni = persistent(systemClock, new OmniServer(this.omnictl, this.files));
  }

  /**
   * The Kubernetes client; undefined without a kubeconfig. The program does not read `~/.kube/config`, which may belong
   * to any cluster.
   *
   * @throws Failure if there is a kubeconfig that cannot be read.
   */
  cluster(): KubernetesCluster | undefined {
    const { kubeconfig, unreadableKubeconfig } = this.credentials;
    if (unreadableKubeconfig !== undefined) throw new Failure(unreadableKubeconfig);
    return kubeconfig === undefined ? undefined : this.clusterAt(kubeconfig);
  }

  /**
   * The Kubernetes client of a kubeconfig, e.g. of one that the program has fetched from a machine.
   *
   * @throws Failure if the kubeconfig cannot be read.
   */
  clusterAt(kubeconfig: string): KubernetesCluster {
    const secrets = [...this.credentials.secrets, ...secretValues(kubeconfig)];
    return persistent(systemClock, new KubernetesCluster(configOf(kubeconfig), secrets));
  }

  machine(address: string): Machine {
    return persistent(systemClock, new TalosMachine(this.talosctl, address, this.files));
  }

  /**
   * Version of talosctl.
   *
   * @throws CallError if talosctl cannot be run.
   */
  clientVersion(): Promise<string> {
    return this.talosctl.version();
  }

  /** Reports progress lines with the machine's name in front. */
  reportOf(machine: string): Report {
    return (line) => this.report(`${machine}: ${line}`);
  }

  /** Ends the child processes and removes the files; may be called again. */
  close(): void {
    this.talosctl.stop();
    this.omnictl.stop();
    endAll();
    this.files.close();
  }
}

function configOf(kubeconfig: string): ReturnType<typeof readKubeconfig> {
  try {
    return readKubeconfig(kubeconfig);
  } catch (error) {
    throw new Failure({
      field: "kubeconfig",
      problem: `cannot be used (${(error as Error).message})`,
      why: "without a usable kubeconfig, the program cannot reach Kubernetes",
      remedy: "fetch the cluster's kubeconfig with `talosctl kubeconfig`, and use that",
    });
  }
}
