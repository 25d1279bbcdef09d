import * as semver from "semver";
import type { GpuOperatorSpec, SharingSpec } from "../spec/index";
import type { ChartInput } from "./values";
import { valueAt } from "../mapping";

/**
 * Last release of the MIG manager that works on Talos. From v0.13 on, the MIG manager first calls systemd over D-Bus.
 * Talos has the D-Bus socket but no systemd, so the MIG manager hangs without a message, and never sets the label
 * nvidia.com/mig.config.state. Source: NVIDIA/mig-parted#356 (on Talos 1.13, v0.12.3 works), #382;
 * pkg/mig/reconfigure/reconfigure.go, v0.13.0 to v0.15.0.
 */
export const migManagerRelease = "v0.12.3-ubuntu20.04";

/** First release of the MIG manager that hangs on Talos. */
const firstThatHangs = "0.13.0";

/** Whether a MIG manager of this release hangs on Talos; false if the text is not a release. */
export function migManagerHangs(version: string): boolean {
  const release = semver.coerce(version);
  return release !== null && semver.gte(release, firstThatHangs);
}

/**
 * Arguments that run the operator's own start script for the MIG manager with one changed setting. With a driver on the
 * host, as on Talos, the unchanged script copies the manager into the host's /usr/local and calls the host's systemd.
 * On Talos /usr/local is read-only, and there is no systemd. The operator passes these arguments to a shell. Source:
 * gpu-operator v24.6.0 to v26.7.0, assets/state-mig-manager/0420_configmap.yaml and 0600_daemonset.yaml;
 * gpu-operator#2501.
 */
const leavesHostAlone =
  "sed 's/^\\( *export WITH_SHUTDOWN_HOST_GPU_CLIENTS=\\).*/\\1false/' /bin/entrypoint.sh > /tmp/entrypoint.sh " +
  "&& exec bash /tmp/entrypoint.sh";

/**
 * The chart's values for the MIG manager. Operators from v26.3 on expect that the MIG manager generates its
 * configuration. Only managers from v0.14 on do this. An older manager needs the path of the operator's default
 * configuration, because these operators mount it under a new name. Source: gpu-operator v26.3.1,
 * controllers/object_controls.go, TransformMIGManager.
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
