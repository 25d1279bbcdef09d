import { clusterCuda, smokeTestImage, tooNewSample } from "../facts/cuda";
import { helperImages } from "../facts/data/images";
import type { FixSwitch } from "../fix-ids";
import type { MachineFacts } from "../facts/machine-facts";
import { markersOf, needsMarkers } from "./markers";
import { operatorRelease } from "./operator-release";
import { pluginRelease } from "./plugin-release";
import { migConfigName, profileName, resourceNameOf, sharingConfig } from "../facts/sharing";
import type { ClusterSpec } from "../stack/spec/index";
import { controlPlaneTaint, taintsOf, tolerationsFor } from "../machine/taints";
import type { Era, KubernetesRecipe, Mode, PodToleration, ReleaseRecipe } from "../types";

/** Namespaces that Kubernetes makes itself. Talos exempts `kube-system` from Pod Security. */
const givenNamespaces = ["kube-system", "kube-public", "kube-node-lease", "default"];

/** What lets hostPath volumes and privileged containers in; Talos enforces `baseline` otherwise. */
const privileged = {
  "pod-security.kubernetes.io/enforce": "privileged",
  "pod-security.kubernetes.io/audit": "privileged",
  "pod-security.kubernetes.io/warn": "privileged",
};

/** What a selector looks like that a former set-up left behind: a role that somebody once gave the nodes by hand. */
const staleSelector = { "node-role.kubernetes.io/gpu": "true" };

/** All that follows for Kubernetes. */
export function kubernetesRecipe(
  spec: ClusterSpec,
  machines: MachineFacts[],
  era: Era,
  mode: Mode,
  fix: FixSwitch,
): KubernetesRecipe {
  const gpuMachines = machines.filter((machine) => machine.gpuCount > 0);
  const tolerations = fix("tolerations") ? tolerationsOf(gpuMachines) : tolerationsFor([]);
  const nodeSelector = fix("nodeSelector") ? { "nvidia.com/gpu.present": "true" } : staleSelector;
  const release = releaseOf(spec, mode, tolerations, nodeSelector, deviceListStrategyOf(era, fix), fix);
  const cudaVersion = clusterCuda(gpuMachines);
  const config = sharingConfig(spec.sharing);
  const owner = mode === "operator" ? "operator" : "component";
  return {
    era,
    mode,
    release,
    ...(givenNamespaces.includes(release.namespace)
      ? {}
      : { namespaceLabels: fix("privilegedNamespace") ? privileged : {} }),
    runtimeClass: {
      name: "nvidia",
      handler: "nvidia",
      owner,
      ...(owner === "component" && !fix("runtimeClass") ? { leftOut: true } : {}),
    },
    markers: needsMarkers(era, mode) && fix("validationMarkers") ? markersOf(spec, fix) : [],
    tolerations,
    nodeSelector,
    resourceName: resourceNameOf(spec.sharing, gpuMachines),
    ...(config === undefined ? {} : { sharingConfig: config }),
    images: { ...helperImages, ...spec.images },
    ...splitOf(spec),
    smokeTestImage: spec.smokeTestImage ?? (fix("cudaImage") ? smokeTestImage(cudaVersion) : tooNewSample),
    cudaVersion,
  };
}

function splitOf({ sharing }: ClusterSpec): Pick<KubernetesRecipe, "mig"> {
  if (!sharing?.mig) return {};
  const { strategy, profile } = sharing.mig;
  const only = profileName(profile);
  return {
    mig: { config: migConfigName(profile), ...(strategy === "single" && only !== "disabled" ? { only } : {}) },
  };
}

function tolerationsOf(machines: MachineFacts[]): PodToleration[] {
  const controlPlane = machines.some((machine) => machine.spec.role === "controlplane") ? [controlPlaneTaint] : [];
  return tolerationsFor([...controlPlane, ...machines.flatMap((machine) => taintsOf(machine.spec))]);
}

/** A stack that names neither is told so by a check; its plan takes an operator without a version. */
function releaseOf(
  spec: ClusterSpec,
  mode: Mode,
  tolerations: PodToleration[],
  nodeSelector: Record<string, string>,
  deviceListStrategy: string | undefined,
  fix: FixSwitch,
): ReleaseRecipe {
  return mode === "devicePlugin" && spec.devicePlugin
    ? pluginRelease(spec.devicePlugin, spec, tolerations, nodeSelector, deviceListStrategy ?? "cdi-cri")
    : operatorRelease(spec.gpuOperator ?? { version: "v0.0.0" }, spec, tolerations, deviceListStrategy, fix);
}

/**
 * How the device plugin hands out devices on Talos ≤ 1.12, which has no CDI specification of its libraries; the runtime of
 * its toolkit knows where they are. Left out, the plural that the plugin refuses. Undefined from 1.13 on.
 */
function deviceListStrategyOf(era: Era, fix: FixSwitch): string | undefined {
  if (era === "cdi") return undefined;
  return fix("deviceListStrategy") ? "envvar" : "envvars";
}
