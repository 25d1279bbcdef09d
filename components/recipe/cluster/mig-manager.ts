import * as semver from "semver";
import type { GpuOperatorSpec, SharingSpec } from "../spec/index";
import type { ChartInput } from "./values";
import { valueAt } from "../mapping";

/**
 * Last MIG manager that splits cards on Talos. From v0.13 on it first calls systemd over D-Bus. Talos has the socket
 * but no server, so the MIG manager hangs without a message, and never sets nvidia.com/mig.config.state. Source:
 * NVIDIA/mig-parted#356 (Talos 1.13; works with this one), #382; pkg/mig/reconfigure/reconfigure.go, v0.13.0 to
 * v0.15.0.
 */
export const migManagerRelease = "v0.12.3-ubuntu20.04";

/** First MIG manager that hangs on Talos. */
const firstThatHangs = "0.13.0";

/** Whether a MIG manager of this release hangs on Talos; false if the text is not a release. */
export function migManagerHangs(version: string): boolean {
  const release = semver.coerce(version);
  return release !== null && semver.gte(release, firstThatHangs);
}

/**
 * Arguments that start the manager like the operator's own script, but without changes to the host. If the host brings
 * the driver, as on Talos, that script makes the manager copy itself into the host's /usr/local and call the host's
 * systemd. On Talos /usr/local is read-only. The operator passes these arguments to a shell. Source: gpu-operator
 * v24.6.0 to v26.7.0, assets/state-mig-manager/0420_configmap.yaml and 0600_daemonset.yaml; gpu-operator#2501.
 */
const leavesHostAlone =
  "sed 's/^\\( *export WITH_SHUTDOWN_HOST_GPU_CLIENTS=\\).*/\\1false/' /bin/entrypoint.sh > /tmp/entrypoint.sh " +
  "&& exec bash /tmp/entrypoint.sh";

/**
 * The chart's values for the MIG manager. From operator v26.3 on the manager itself generates its configuration, which
 * only managers from v0.14 on can do. An older manager needs the name of the file, since the operator mounts its
 * fallback under another name. Source: gpu-operator v26.3.1, controllers/object_controls.go, TransformMIGManager.
 */
export function migManagerValues(
  operator: GpuOperatorSpec,
  sharing: SharingSpec | undefined,
): ChartInput {
  if (!sharing?.mig) return { enabled: false };
  const ownConfig = Boolean(valueAt(operator.values, "migManager", "config", "name"));
  const generates = semver.gte(semver.coerce(operator.version) ?? "0.0.0", "26.3.0");
  return {
    enabled: true,
    version: migManagerRelease,
    args: [leavesHostAlone],
    ...(generates && !ownConfig
      ? { env: [{ name: "CONFIG_FILE", value: "/mig-parted-config/config-default.yaml" }] }
      : {}),
  };
}
