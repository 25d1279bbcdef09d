import { examine } from "../../../cli/doctor/examine";
import type { DoctorReport } from "../../../cli/doctor/report";
import type { Plan } from "../../../components/recipe";
import type { Cluster } from "../../kubernetes/cluster";
import type { KubernetesView } from "../../cluster/kubernetes-view";

/** A healthy cluster with a real node, in which something is broken. */
export interface Scene {
  /** Name of the real node and of its machine. */
  node: string;
  /** The cluster, with its administrator's rights. */
  cluster: Cluster;
  kubernetes: KubernetesView;
  /** What the stack wants of it. */
  plan: Plan;
  /** Ways to the machines. */
  talos: { talosctl: string; talosconfig: string };
  /** Ends whatever waits. */
  signal: AbortSignal;
  /** Runs a shell's command on the real node as its root. */
  onNode(command: string): Promise<string>;
}

/** Milliseconds that the calls of one look may take. */
const oneLook = 20_000;

/** What `talos-gpu doctor --stack` says of the cluster. */
export function askDoctor({ kubernetes, talos, plan }: Scene): Promise<DoctorReport> {
  const machines = { ...talos, secrets: [], patience: oneLook };
  return examine({ kubeconfig: kubernetes.config, machines, leftOut: [] }, plan, oneLook);
}

/** The same without the machines, which cost most of a look: a process for each of their answers. */
export function askOfKubernetes({ kubernetes, plan }: Scene): Promise<DoctorReport> {
  return examine({ kubeconfig: kubernetes.config, leftOut: [] }, plan, oneLook);
}
