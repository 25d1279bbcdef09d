import type { Check, CheckContext, Found } from "./check";
import { strategiesIn } from "../kubernetes/plugin-release";
import { envOf } from "../kubernetes/values";
import { valueAt } from "../mapping";

/** Paths of the device plugin are those of Talos' release. */
export const pluginPaths: Check = {
  id: "plugin-paths",
  source:
    "talos#13346: LD_LIBRARY_PATH and glibc roots of Talos ≤ 1.12 break the plugin on 1.13; " +
    "k8s-device-plugin v0.19.3, cmd/nvidia-device-plugin/plugin-manager.go, and an H100 with Talos 1.13's files (docs/hardware.md)",
  find: (context) => {
    if (context.plan.era === "legacy") return [];
    const env = valueAt(context.spec.gpuOperator?.values, "devicePlugin", "env");
    const glibc = ["LD_LIBRARY_PATH", "CONTAINER_DRIVER_ROOT", "DRIVER_ROOT_CTR_PATH", "NVIDIA_DRIVER_ROOT"]
      .filter((name) => /glibc/.test(envOf(env, name) ?? ""))
      .map((name) => ({
        field: "gpuOperator.values.devicePlugin.env",
        problem: `${name} names a glibc prefix`,
        why: "Talos ≥ 1.13 has the libraries under /usr/local/lib: NVML fails to load and the node offers no GPU",
        remedy: "leave it out",
      }));
    return [glibc, driverRoot(context)];
  },
};

/** With a CDI strategy the standalone plugin writes paths of devices below the driver root into its specification. */
function driverRoot({ spec }: CheckContext): Found {
  const values = spec.devicePlugin?.values;
  const root = valueAt(values, "nvidiaDriverRoot");
  const devices = valueAt(values, "nvidiaDevRoot");
  const cdi = strategiesIn(valueAt(values, "deviceListStrategy")).filter((word) => word.startsWith("cdi-"));
  if (cdi.length === 0 || root === undefined || root === "/" || devices === "/") return [];
  const field = "devicePlugin.values.nvidiaDriverRoot";
  const remedy = 'write "/", or write deviceListStrategy: envvar, which needs no driver root';
  if (typeof root !== "string")
    return {
      field,
      problem: `is ${JSON.stringify(root)} with ${cdi.join(",")}`,
      why: "the plugin ends with `open /driver-root/etc/ld.so.cache: no such file or directory`, and the node offers no GPU",
      remedy,
    };
  if (!/^\/usr\/local(\/|$)/.test(root)) return []; // Nobody has seen what another root does.
  return {
    field,
    problem: `is ${root} with ${cdi.join(",")}`,
    why: `the specification would name ${root.replace(/\/$/, "")}/dev/nvidia-uvm, which Talos has not: the node offers GPUs, and every pod that gets one fails`,
    remedy,
  };
}
