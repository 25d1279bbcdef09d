import type { KubeConfig } from "@kubernetes/client-node";
import { secretValues, SecretFiles } from "../../clients/secret-files";
import { fileOf, omniCredentials, take } from "./environment";
import { client } from "../../clients/kubernetes/client";
import { KubernetesCluster } from "./kubernetes/cluster";
import { OmniServer } from "../../clients/omni/server";
import type { Report } from "./progress";
import { TalosMachine } from "../../clients/talos/talos-machine";
import { Talosctl } from "../../clients/talos/talosctl";

/** What a verb works with: clients with the credentials that the program was given. */
export interface Clients {
  /** Content of the talosconfig that was given; undefined where talosctl finds one by itself. */
  talosconfig: string | undefined;
  /** Content of the kubeconfig; undefined where nothing names one. */
  kubeconfig: string | undefined;
  /** What must not be seen in what the program says. */
  secrets: string[];
  /** Kubernetes; undefined without a kubeconfig. `~/.kube/config` is left alone: it may be of any cluster. */
  cluster: () => KubernetesCluster | undefined;
  omni: OmniServer;
  /** A machine by its address, through talosctl. */
  machine: (address: string) => TalosMachine;
  /** Release of talosctl. @throws CallError where it cannot be run. */
  clientVersion: () => Promise<string>;
  report: Report;
  /** Whether Pulumi still waits for the answer. It does not after Ctrl-C or a kill. */
  isAwaited: () => boolean;
  /** Says that something is changed from now on, so that the program is brought to its end also where Pulumi is gone. */
  touches: () => void;
  /** Says lines of one machine. */
  reportOf: (machine: string) => Report;
}

/** The credentials, taken out of the environment. */
export interface GivenCredentials {
  talosconfig: string | undefined;
  kubeconfig: string | undefined;
  omni: Record<string, string>;
  secrets: string[];
}

/** Takes the credentials out of the environment, before anything is started that would inherit them. */
export function takeCredentials(): GivenCredentials {
  const talosconfig = take("TALOS_GPU_TALOSCONFIG");
  const kubeconfig = take("TALOS_GPU_KUBECONFIG") ?? fileOf("KUBECONFIG");
  const omni = omniCredentials();
  const key = omni["OMNI_SERVICE_ACCOUNT_KEY"] ?? process.env["OMNI_SERVICE_ACCOUNT_KEY"] ?? "";
  return {
    talosconfig,
    kubeconfig,
    omni,
    secrets: [...secretValues(talosconfig ?? ""), ...secretValues(kubeconfig ?? ""), key],
  };
}

/** The clients, and what ends their children and removes their files; it may be called again. */
export function clientsOf(
  given: GivenCredentials,
  { report, isAwaited, touches }: Pick<Clients, "report" | "isAwaited" | "touches">,
): { clients: Clients; close: () => void } {
  const { talosconfig, kubeconfig, omni, secrets } = given;
  const files = new SecretFiles();
  const talosctl = new Talosctl({
    binary: process.env["TALOS_GPU_TALOSCTL"] ?? "talosctl",
    talosconfig: talosconfig === undefined ? undefined : files.write("talosconfig", talosconfig),
    endpoint: process.env["TALOS_GPU_ENDPOINT"] || undefined,
    environment: omni, // talosctl signs its requests to Omni with the same key
    secrets,
  });
  const omnictl = new Talosctl({
    binary: process.env["TALOS_GPU_OMNICTL"] ?? "omnictl",
    name: "omnictl",
    talosconfig: undefined,
    environment: omni,
    secrets,
  });
  const clients: Clients = {
    talosconfig,
    kubeconfig,
    secrets,
    cluster: () => (kubeconfig === undefined ? undefined : new KubernetesCluster(accessBy(kubeconfig), secrets)),
    omni: new OmniServer(omnictl, files),
    machine: (address) => new TalosMachine(talosctl, address, files),
    clientVersion: () => talosctl.version(),
    report,
    isAwaited,
    touches,
    reportOf: (machine) => (line) => report(`${machine}: ${line}`),
  };
  const close = (): void => {
    talosctl.stop();
    omnictl.stop();
    files.close();
  };
  return { clients, close };
}

function accessBy(kubeconfig: string): KubeConfig {
  const { KubeConfig: Access, keepConnections } = client();
  const config = new Access();
  config.loadFromString(kubeconfig);
  return keepConnections(config);
}
