import * as semver from "semver";
import { contractMinor } from "../facts/contract";
import { contract as contracts } from "../facts/data/since.json";
import type { FindingText } from "../rules";
import { minorsBetween } from "./hops";
import type { Changeable, MachineState } from "./state";

/**
 * Finding for a change of a machine's `configuration` that no single update can make; undefined if one update can make
 * the change. For an adopted or Omni machine, one update must first remove the stack's additions to its configuration.
 *
 * @param previousConfiguration `owned`, `adopted` or `omni` as planned by the last update, even if that update failed.
 */
export function handOverFinding(
  previousConfiguration: string,
  nextConfiguration: string,
): FindingText | undefined {
  if (previousConfiguration === nextConfiguration || previousConfiguration === "owned")
    return undefined;
  return {
    problem: `changes from ${previousConfiguration} to ${nextConfiguration}`,
    why: "at the end of the update, Pulumi removes the additions that the stack made before, and would remove them from the new configuration, too",
    remedy: `write ${previousConfiguration}. To get ${nextConfiguration}, remove the machine in one update and add it in the next. If the last update failed, first complete that update with ${previousConfiguration}. If this is the stack's only machine, run \`pulumi destroy\` (which also deletes the workloads' volumes) and then \`pulumi up\``,
  };
}

/**
 * Finding for a generated configuration that the machine would refuse; undefined if the machine accepts it. The machine
 * gets the configuration before its upgrade, so the running release must decode the configuration. Of the contracts
 * v1.8 to v1.14, only v1.12 adds parts that the release before it does not know: the document HostnameConfig, and
 * `machine.install.grubUseUKICmdline` (outputs of `talosctl gen config` v1.13.0 compared).
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
    problem: `the machine runs ${running}, but its configuration is generated for ${contract}`,
    why: `the machine gets the configuration before its upgrade, and Talos before ${contracts.documentsFrom} refuses the document HostnameConfig`,
    remedy: `write \`versionContract: ${contractMinor(running)}\`, the running release, and keep it`,
  };
}

/**
 * Finding for a step of a control plane from one Kubernetes release to another that Kubernetes does not support;
 * undefined for other steps, and for texts that are no releases. The update changes one control plane after another, so
 * both releases serve at the same time (kubernetes.io/releases/version-skew-policy, kube-apiserver: within one minor
 * version). Talos' own upgrade refuses the same steps (siderolabs/go-kubernetes, kubernetes/upgrade/path.go,
 * IsSupported).
 */
export function controlPlaneStepFinding(
  from: string | undefined,
  to: string | undefined,
): FindingText | undefined {
  const [before, after] = [semver.parse(from), semver.parse(to)];
  if (before === null || after === null) return undefined;
  const minors = minorsBetween(before.version, after.version);
  if (minors === 0 || minors === 1) return undefined;
  return minors < 0
    ? {
        problem: `v${before.version} → v${after.version} goes back to an earlier minor release of Kubernetes`,
        why: "Kubernetes supports no downgrade: etcd may hold objects that the older API server cannot read",
        remedy: `set it to v${before.version} or newer`,
      }
    : {
        problem: `v${before.version} → v${after.version} crosses ${minors} minor releases of Kubernetes in one update`,
        why: "the update changes one control plane after another, and Kubernetes supports API servers at most one minor apart",
        remedy: `go to v${before.major}.${before.minor + 1} first`,
      };
}

/**
 * Finding for an unsupported step of an owned control plane (`controlPlaneStepFinding`), as a preview knows it.
 *
 * @param before state that the last update left.
 */
export function kubernetesPathFinding(
  before: MachineState,
  after: MachineState,
): FindingText | undefined {
  const [previousInput, nextInput] = [generatedOf(before), generatedOf(after)];
  if (previousInput.role !== "controlplane" || nextInput.role !== "controlplane") return undefined;
  // The user says that Kubernetes was upgraded without the stack, so the state of the last update no longer applies.
  if (before.mayRebootIfChanged?.reconcileToken !== after.mayRebootIfChanged?.reconcileToken)
    return undefined;
  const [from, to] = [previousInput.kubernetesVersion, nextInput.kubernetesVersion];
  const finding = controlPlaneStepFinding(from, to);
  if (finding === undefined) return undefined;
  const others =
    minorsBetween(from!, to!) > 0
      ? " In a stack without `bootstrap: true`, run `talosctl upgrade-k8s` after each step, because a new configuration does not update kube-proxy, CoreDNS and flannel."
      : "";
  const unless = `If the cluster already runs v${semver.parse(to)!.version}, change reconcileToken in the same update`;
  return { ...finding, remedy: `${finding.remedy}.${others} ${unless}` };
}

/** Inputs of a machine's generated configuration. */
export const generatedOf = ({
  rebootsIfChanged,
  changesWithoutReboot,
}: MachineState): Changeable => ({
  ...changesWithoutReboot,
  ...rebootsIfChanged,
});
