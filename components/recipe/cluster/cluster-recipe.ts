import { clusterCuda, smokeTestImage } from "../facts/cuda";
import { helpers } from "../facts/data/images.json";
import type { MachineFacts } from "../facts/machine-facts";
import { leaderWorkerSet, gpuProviderOf } from "../facts/gpu-provider";
import { capabilitiesOf } from "../facts/talos-release";
import { draRelease } from "./dra-release";
import { markersOf, needsMarkers } from "./markers";
import { externalOf, ownValuesOf } from "../external/external";
import { operatorRelease } from "./operator-release";
import { pluginRelease } from "./plugin-release";
import { sharingOf } from "../machine/own-sharing";
import { migConfigName, profileName, resourceNameOf, sharingConfig } from "../facts/sharing";
import { defined } from "../mapping";
import type { ClusterSpec, LeaderWorkerSetSpec, MigSpec } from "../spec/index";
import { taintsWithPatches } from "../machine/user-patches";
import { controlPlaneTaint, tolerationsFor } from "../machine/taints";
import type {
  Injection,
  KubernetesRecipe,
  GpuProviderName,
  PodToleration,
  ReleaseRecipe,
} from "../types";
import { allAtOnce, awayAtMost, chartUpdateStrategy } from "./update-strategy";
import { type Ground, mergeValues, repositoryOf } from "./values";

/** Namespaces that Kubernetes creates itself. Talos exempts `kube-system` from Pod Security. */
const givenNamespaces = ["kube-system", "kube-public", "kube-node-lease", "default"];

/** Namespace of the stack's own objects, such as the smoke tests, if the GPU provider is external. */
const ownNamespace = "talos-gpu";

/**
 * Labels of a namespace that allow hostPath volumes and privileged containers; without them Talos enforces
 * `baseline`.
 */
const privileged: Record<string, string> = {
  "pod-security.kubernetes.io/enforce": "privileged",
  "pod-security.kubernetes.io/audit": "privileged",
  "pod-security.kubernetes.io/warn": "privileged",
};

/** Plans the Kubernetes part of a stack. */
export function kubernetesRecipe(
  spec: ClusterSpec,
  machines: MachineFacts[],
  injection: Injection,
  mode: GpuProviderName,
): KubernetesRecipe {
  const gpuMachines = machines.filter((machine) => machine.gpuCount > 0);
  const tolerations = tolerationsOf(spec, gpuMachines);
  const nodeSelector = { "nvidia.com/gpu.present": "true" };
  const config = sharingConfig(spec.sharing);
  const externalProvider = externalOf(spec);
  const providerSpec = spec[gpuProviderOf(mode).field];
  const { deviceClass } = gpuProviderOf(mode);
  const release =
    externalProvider?.release ??
    releaseOf(mode, {
      spec,
      injection,
      tolerations,
      nodeSelector,
      config,
      updateStrategy: chartUpdateStrategy(spec),
    });
  const namespace = externalProvider ? ownNamespace : release.namespace;
  const cudaVersion = clusterCuda(gpuMachines);
  const isManagedOutside =
    externalProvider !== undefined || spec.devicePlugin?.makeRuntimeClass === false;
  // A pod with a claim gets its devices by CDI, with all libraries. Only the package's pods that need all cards name a
  // RuntimeClass.
  const looksAtAll =
    spec.monitoring !== undefined || gpuMachines.some(({ spec: { powerLimit } }) => powerLimit);
  const hasHandler = capabilitiesOf(spec.talosVersion).toolkit === "extension";
  const isUnneeded = !hasHandler || (deviceClass !== undefined && !looksAtAll);
  const owner =
    mode === "operator" && !externalProvider
      ? "operator"
      : isManagedOutside
        ? "other"
        : "component";
  return {
    injection,
    mode,
    release,
    ...(spec.leaderWorkerSet
      ? { leaderWorkerSet: leaderWorkerSetRelease(spec.leaderWorkerSet, tolerations) }
      : {}),
    ...(externalProvider ? { external: true as const } : {}),
    ...(externalProvider?.assumesNamespace ? { assumesNamespace: true as const } : {}),
    ...(externalProvider?.by === undefined ? {} : { by: externalProvider.by }),
    ...(providerSpec?.handBack ? { handBack: true as const } : {}),
    namespace,
    ...(givenNamespaces.includes(namespace) || providerSpec?.takeOver !== undefined
      ? {}
      : { namespaceLabels: privileged }),
    runtimeClass: {
      name: externalProvider?.runtimeClassName ?? (isUnneeded ? "" : "nvidia"),
      handler: hasHandler ? "nvidia" : "",
      owner: isUnneeded ? "other" : owner,
    },
    markers: needsMarkers(injection, mode) ? markersOf(spec) : [],
    tolerations,
    updateStrategy: allAtOnce(spec),
    ...(awayAtMost(spec) > 0 ? { deletesInBackground: true as const } : {}),
    nodeSelector,
    resourceName:
      ownValuesOf(spec)?.resourceName ??
      deviceClass ??
      resourceNameOf(sharingOf(spec), gpuMachines),
    ...defined({ sharingConfig: config }),
    images: { ...helpers, ...spec.images },
    ...defined({ mig: spec.sharing?.mig && splitOf(spec.sharing.mig) }),
    smokeTestImage: spec.smokeTestImage ?? smokeTestImage(cudaVersion),
    cudaVersion,
  };
}

function splitOf({ strategy, profile }: MigSpec): NonNullable<KubernetesRecipe["mig"]> {
  const onlyProfile = profileName(profile);
  return {
    config: migConfigName(profile),
    ...(strategy === "single" && onlyProfile !== "disabled" ? { only: onlyProfile } : {}),
  };
}

/**
 * The release of LeaderWorkerSet. The controller of LeaderWorkerSet tolerates the taints of GPU machines, because a
 * cluster may have no other machines.
 */
function leaderWorkerSetRelease(
  leaderWorkerSetSpec: LeaderWorkerSetSpec,
  tolerations: PodToleration[],
): ReleaseRecipe {
  const { chart, namespace } = leaderWorkerSet;
  return {
    name: chart,
    namespace,
    chart,
    version: leaderWorkerSetSpec.version,
    repository: repositoryOf(leaderWorkerSetSpec.repository, chart) ?? leaderWorkerSet.repository,
    values: mergeValues({ tolerations }, leaderWorkerSetSpec.values),
  };
}

function tolerationsOf(spec: ClusterSpec, machines: MachineFacts[]): PodToleration[] {
  const controlPlane = machines.some((machine) => machine.spec.role === "controlplane")
    ? [controlPlaneTaint]
    : [];
  return tolerationsFor([
    ...controlPlane,
    ...machines.flatMap((machine) => taintsWithPatches(spec, machine.spec)),
  ]);
}

/**
 * The release of the GPU provider. If a stack has no GPU provider, its plan has the GPU Operator with the version
 * `v0.0.0`, and a check refuses the stack.
 */
function releaseOf(mode: GpuProviderName, ground: Ground): ReleaseRecipe {
  const { dra, devicePlugin, gpuOperator = { version: "v0.0.0" } } = ground.spec;
  if (mode === "dra" && dra) return draRelease(dra, ground);
  return mode === "devicePlugin" && devicePlugin
    ? pluginRelease(devicePlugin, ground)
    : operatorRelease(gpuOperator, ground);
}
