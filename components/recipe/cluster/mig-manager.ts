import * as semver from "semver";
import type { GpuOperatorSpec, SharingSpec } from "../spec/index";
import type { ChartInput } from "./values";
import { valueAt } from "../mapping";

/**
 * Last MIG manager that splits cards on Talos. Those from v0.13 on ask systemd over D-Bus before anything else; on Talos the socket is
 * there without a server, so they hang without a word and without nvidia.com/mig.config.state.
 * Source: NVIDIA/mig-parted#356 (Talos 1.13; works with this one), #382; pkg/mig/reconfigure/reconfigure.go, v0.13.0 to v0.15.0.
 */
export const migManagerRelease = "v0.12.3-ubuntu20.04";

/** First MIG manager that hangs on Talos. */
const firstThatHangs = "0.13.0";

/** Whether a MIG manager of this release hangs on Talos; false when the text is no release. */
export function migManagerHangs(version: string): boolean {
  const release = semver.coerce(version);
  return release !== null && semver.gte(release, firstThatHangs);
}

/**
 * Starts the manager as the operator's own script does, and has it leave the host alone. If the driver is the host's, as on Talos, that
 * script makes the manager copy itself into the host's /usr/local and ask the host's systemd. On Talos /usr/local is read-only.
 * The operator gives these arguments to a shell.
 * Source: gpu-operator v24.6.0 to v26.7.0, assets/state-mig-manager/0420_configmap.yaml and 0600_daemonset.yaml; gpu-operator#2501.
 */
const leavesHostAlone =
  "sed 's/^\\( *export WITH_SHUTDOWN_HOST_GPU_CLIENTS=\\).*/\\1false/' /bin/entrypoint.sh > /tmp/entrypoint.sh " +
  "&& exec bash /tmp/entrypoint.sh";

/**
 * The chart's values for the MIG manager. Operators from v26.3 on leave the configuration to the manager, which generates it
 * from v0.14 on; an older one needs the name of the file, since the operator mounts its own fallback under another name.
 * Source: gpu-operator v26.3.1, controllers/object_controls.go, TransformMIGManager.
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
