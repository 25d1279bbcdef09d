import { migManagerValues } from "./mig-manager";
import { sharingConfigName } from "../facts/sharing";
import type { GpuOperatorSpec } from "../spec/index";
import { withControlPlane } from "../machine/taints";
import type { Injection, ReleaseRecipe } from "../types";
import { exporterCounters } from "./exporter";
import { discoveryValues } from "./discovery";
import { type ChartInput, type Ground, mergeValues, releaseOfGpuProvider } from "./values";

/**
 * The GPU Operator's release. Talos' extensions contain the driver, and up to Talos 1.14 also the container toolkit, so
 * the operator must not install these.
 */
export function operatorRelease(operator: GpuOperatorSpec, ground: Ground): ReleaseRecipe {
  const migManager = migManagerValues(operator, ground.spec.sharing);
  const packageValues = mergeValues(
    { ...commonValues(ground), migManager },
    valuesOf[ground.injection],
  );
  return releaseOfGpuProvider("operator", operator, packageValues);
}

function commonValues(ground: Ground): ChartInput {
  const { spec, tolerations, config, updateStrategy } = ground;
  return {
    driver: { enabled: false },
    toolkit: { enabled: false },
    // A list in the values replaces the chart's, so each list repeats the chart's own entries.
    daemonsets: {
      tolerations,
      // The ClusterPolicy has this number as text.
      ...(updateStrategy && {
        rollingUpdate: { maxUnavailable: String(updateStrategy.rollingUpdate.maxUnavailable) },
      }),
    },
    "node-feature-discovery": discoveryValues(ground),
    // The operator's own pod belongs to no machine, and every machine may have a taint.
    operator: { tolerations: withControlPlane(tolerations) },
    // Charts before 26.7 render an empty list as null, which the ClusterPolicy's schema refuses.
    validator: { plugin: { env: [{ name: "WITH_WORKLOAD", value: "false" }] } },
    // Always set, because the default differs by release: the ServiceMonitor needs the CRD of the Prometheus Operator.
    dcgmExporter: {
      serviceMonitor: {
        enabled: spec.monitoring?.serviceMonitor ?? false,
        ...(spec.monitoring?.labels ? { additionalLabels: spec.monitoring.labels } : {}),
      },
      ...(spec.monitoring?.alerts ? { config: { name: exporterCounters.configMap } } : {}),
    },
    ...(spec.sharing?.mig ? { mig: { strategy: spec.sharing.mig.strategy } } : {}),
    ...(config === undefined
      ? {}
      : {
          devicePlugin: {
            config: {
              create: true,
              name: sharingConfigName(config),
              default: "default",
              data: { default: config },
            },
          },
        }),
  };
}

/**
 * Values for Talos ≤ 1.12. NVIDIA's libraries are below /usr/local/glibc on Talos. Only the toolkit's runtime finds
 * them there: a CDI specification cannot name them, and the operator's validator does not find them.
 */
const legacyValues: ChartInput = {
  cdi: { enabled: false },
  devicePlugin: { env: [{ name: "DEVICE_LIST_STRATEGY", value: "envvar" }] },
};

/**
 * Folder into which the GPU Operator installs the container toolkit on Talos ≥ 1.15. The folder must be writable, and
 * programs in it must be executable, because containerd runs the toolkit's CDI hooks from there. The chart's default
 * /usr/local/nvidia is read-only (gpu-operator v26.7.0, values.yaml), and /run is mounted noexec.
 */
export const toolkitFolder = "/var/lib/nvidia";

/**
 * Values for Talos ≥ 1.13. Sources: siderolabs/docs, nvidia-gpu; talos,
 * internal/integration/api/testdata/nvidia-gpu-operator.yaml; cozystack#2323 (/dev/char).
 */
const cdiValues: ChartInput = {
  hostPaths: { driverInstallDir: "/usr/local" },
  validator: { driver: { env: [{ name: "DISABLE_DEV_CHAR_SYMLINK_CREATION", value: "true" }] } },
};

/** The operator's values for each way of device injection. */
const valuesOf: Record<Injection, ChartInput> = {
  legacy: legacyValues,
  cdi: cdiValues,
  // Sources: siderolabs/extensions#1222; gpu-operator v26.7.0, controllers/state_manager.go (NRI needs the toolkit and
  // CDI), object_controls.go (with NRI the toolkit does not change containerd's configuration).
  nri: {
    ...cdiValues,
    cdi: { enabled: true, nriPluginEnabled: true },
    toolkit: { enabled: true, installDir: toolkitFolder },
  },
};
