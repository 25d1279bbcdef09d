import * as semver from "semver";
import type { Fault } from "../rules";
import type { Changeable, MachineState } from "./state";
import { minorsBetween } from "./upgrade-path";

/**
 * What is wrong with a step of an owned control plane from one Kubernetes release to another; undefined where Kubernetes supports it. The
 * control planes follow one another, so both releases serve at once (kubernetes.io/releases/version-skew-policy, kube-apiserver: within one
 * minor version). Talos' own upgrade refuses the same steps (siderolabs/go-kubernetes, kubernetes/upgrade/path.go, IsSupported).
 *
 * @param before as the last update left it.
 */
export function kubernetesPathFault(before: MachineState, after: MachineState): Fault | undefined {
  const [was, is] = [generatedOf(before), generatedOf(after)];
  const [from, to] = [semver.parse(was.kubernetesVersion), semver.parse(is.kubernetesVersion)];
  if (from === null || to === null || was.role !== "controlplane" || is.role !== "controlplane") return undefined;
  // Somebody upgraded Kubernetes without the stack, which catches up: what the last update left is no longer there.
  if (before.mayRebootIfChanged?.reconcileToken !== after.mayRebootIfChanged?.reconcileToken) return undefined;
  const minors = minorsBetween(from.version, to.version);
  if (minors === 0 || minors === 1) return undefined;
  const unless = `if the cluster runs v${to.version} already, change reconcileToken in the same update`;
  return minors < 0
    ? {
        problem: `v${from.version} → v${to.version} goes back to an earlier minor release of Kubernetes`,
        why: "Kubernetes supports no downgrade: etcd may hold objects that the older API server cannot read",
        remedy: `set it to v${from.version} or newer; ${unless}`,
      }
    : {
        problem: `v${from.version} → v${to.version} is ${minors} minor releases of Kubernetes in one update`,
        why: "control planes take it one after another, and Kubernetes supports API servers at most one minor apart",
        remedy: `go to v${from.major}.${from.minor + 1} first; after each step, \`talosctl upgrade-k8s\` updates kube-proxy and CoreDNS, which a new configuration leaves as they are; ${unless}`,
      };
}

/** What an owned configuration is generated from; a machine that reboots for it has it elsewhere. */
const generatedOf = ({ rebootsIfChanged, changesWithoutReboot }: MachineState): Changeable => ({
  ...changesWithoutReboot,
  ...rebootsIfChanged,
});
