import * as semver from "semver";
import { contractMinor } from "../facts/contract";
import { contract as contracts } from "../facts/data/since.json";
import type { FindingText } from "../rules";
import { minorsBetween } from "./hops";
import type { Changeable, MachineState } from "./state";

/**
 * Why an update does not hand a machine's configuration over to another owner; undefined where it does. Additions
 * that the stack merged into an adopted configuration, or gave to Omni, must be removed before the configuration gets
 * a new owner.
 *
 * @param was `owned`, `adopted` or `omni` as the last update planned it, also one that failed.
 */
export function handOverFinding(was: string, is: string): FindingText | undefined {
  if (was === is || was === "owned") return undefined;
  return {
    problem: `changes from ${was} to ${is}`,
    why: "Pulumi removes the old configuration's part at the end of the update, when the machine already has the new one",
    remedy: `write ${was}, or remove the machine in one update and add it in the next; if the update that changed it to ${was} failed, finish that one with ${was} first; the stack's only machine takes \`pulumi destroy\`, which also deletes the workloads' volumes, and then \`pulumi up\``,
  };
}

/**
 * Why a machine refuses the configuration that is generated for it; undefined where it takes it. The machine gets it
 * before its upgrade, so its running release decodes it. Only the contract of 1.12 brings what the release before
 * does not know: the document HostnameConfig, and `machine.install.grubUseUKICmdline` (`talosctl gen config` v1.13.0,
 * contracts v1.8 to v1.14 compared).
 *
 * @param running release that the machine runs, with the v.
 * @param contract release whose features the configuration uses, e.g. `v1.12` or `v1.12.6`.
 */
export function contractFinding(running: string, contract: string): FindingText | undefined {
  const generated = semver.coerce(contract);
  if (generated === null || semver.valid(running) === null) return undefined;
  if (semver.lt(generated, contracts.documentsFrom) || semver.gte(running, contracts.documentsFrom))
    return undefined;
  return {
    problem: `the machine runs ${running}, and its configuration is generated for ${contract}`,
    why: `the machine gets it before its upgrade, and Talos before ${contracts.documentsFrom} refuses it: it does not know the document HostnameConfig`,
    remedy: `write \`versionContract: ${contractMinor(running)}\`, the release that runs, and leave it there`,
  };
}

/**
 * Finding about a step of an owned control plane from one Kubernetes release to a second one; undefined if Kubernetes
 * supports it. The control planes follow one another, so both releases serve at once
 * (kubernetes.io/releases/version-skew-policy, kube-apiserver: within one minor version). Talos' own upgrade refuses
 * the same steps (siderolabs/go-kubernetes, kubernetes/upgrade/path.go, IsSupported).
 *
 * @param before as the last update left it.
 */
export function kubernetesPathFinding(
  before: MachineState,
  after: MachineState,
): FindingText | undefined {
  const [was, is] = [generatedOf(before), generatedOf(after)];
  const [from, to] = [semver.parse(was.kubernetesVersion), semver.parse(is.kubernetesVersion)];
  if (from === null || to === null || was.role !== "controlplane" || is.role !== "controlplane")
    return undefined;
  // Kubernetes was upgraded without the stack, which catches up: what the last update left is no longer there.
  if (before.mayRebootIfChanged?.reconcileToken !== after.mayRebootIfChanged?.reconcileToken)
    return undefined;
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
        remedy: `go to v${from.major}.${from.minor + 1} first; after each step, \`talosctl upgrade-k8s\` updates kube-proxy, CoreDNS and flannel, which a new configuration leaves as they are; ${unless}`,
      };
}

/** Inputs from which an owned configuration is generated. The reasons for a reboot list them elsewhere. */
export const generatedOf = ({
  rebootsIfChanged,
  changesWithoutReboot,
}: MachineState): Changeable => ({
  ...changesWithoutReboot,
  ...rebootsIfChanged,
});
