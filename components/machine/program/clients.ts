import { persistent, systemClock } from "../../clients/clock";
import { endAll } from "../../clients/process-groups";
import { secretValues, SecretFiles } from "../../clients/secret-files";
import { defined } from "../../recipe/mapping";
import { fileOf, take } from "./environment";
import { readKubeconfig } from "../../clients/kubernetes/kubeconfig";
import { KubernetesCluster } from "./kubernetes/cluster";
import { OmniServer } from "../../clients/omni/server";
import type { Report } from "./progress";
import { type Machine, TalosMachine } from "../../clients/talos/talos-machine";
import { Talosctl } from "../../clients/talos/talosctl";

/** The credentials, taken out of the environment, before anything is started that would inherit them. */
export class Credentials {
  /** Content of the talosconfig that was given; undefined where talosctl finds one by itself. */
  readonly talosconfig = take("TALOS_GPU_TALOSCONFIG");
  /** Content of the kubeconfig; undefined where nothing names one. */
  readonly kubeconfig = take("TALOS_GPU_KUBECONFIG") ?? fileOf("KUBECONFIG");
  /** Variables of Omni's clients. A child inherits those that the environment has already. */
  readonly omni = defined({
    OMNI_ENDPOINT: take("TALOS_GPU_OMNI_ENDPOINT"),
    OMNI_SERVICE_ACCOUNT_KEY: take("TALOS_GPU_OMNI_SERVICE_ACCOUNT_KEY"),
  });
  /** What must not be seen in what the program says. */
  readonly secrets = [
    ...secretValues(this.talosconfig ?? ""),
    ...secretValues(this.kubeconfig ?? ""),
    this.omni.OMNI_SERVICE_ACCOUNT_KEY ?? process.env["OMNI_SERVICE_ACCOUNT_KEY"] ?? "",
  ];
}

/** What a verb works with: clients with the credentials that the program was given. */
export class Clients {
  readonly omni: OmniServer;
  private readonly files = new SecretFiles();
  private readonly talosctl: Talosctl;
  private readonly omnictl: Talosctl;

  /**
   * @param isAwaited whether Pulumi still waits for the answer. It does not after Ctrl-C or a kill.
   * @param touches says that something is changed from now on, so that the program is brought to its end also where Pulumi is gone.
   */
  constructor(
    readonly given: Credentials,
    readonly report: Report,
    readonly isAwaited: () => boolean,
    readonly touches: () => void,
  ) {
    const { talosconfig, omni: environment, secrets } = given;
    this.talosctl = new Talosctl({
      binary: process.env["TALOS_GPU_TALOSCTL"] ?? "talosctl",
      talosconfig: talosconfig === undefined ? undefined : this.files.write("talosconfig", talosconfig),
      endpoint: process.env["TALOS_GPU_ENDPOINT"] || undefined,
      environment, // talosctl signs its requests to Omni with the same key
      secrets,
    });
    const binary = process.env["TALOS_GPU_OMNICTL"] ?? "omnictl";
    this.omnictl = new Talosctl({ binary, name: "omnictl", talosconfig: undefined, environment, secrets });
    this.omni = persistent(systemClock, new OmniServer(this.omnictl, this.files));
  }

  /** Kubernetes; undefined without a kubeconfig. `~/.kube/config` is left alone: it may be of any cluster. */
  cluster(): KubernetesCluster | undefined {
    const { kubeconfig, secrets } = this.given;
    return kubeconfig === undefined
      ? undefined
      : persistent(systemClock, new KubernetesCluster(readKubeconfig(kubeconfig), secrets));
  }

  machine(address: string): Machine {
    return persistent(systemClock, new TalosMachine(this.talosctl, address, this.files));
  }

  /** Release of talosctl. @throws CallError where it cannot be run. */
  clientVersion(): Promise<string> {
    return this.talosctl.version();
  }

  /** Says lines of one machine. */
  reportOf(machine: string): Report {
    return (line) => this.report(`${machine}: ${line}`);
  }

  /** Ends the children and removes the files; may be called again. */
  close(): void {
    this.talosctl.stop();
    this.omnictl.stop();
    endAll();
    this.files.close();
  }
}
