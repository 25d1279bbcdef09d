import type { Check } from "./check";
import { envOf } from "../kubernetes/values";
import { valueAt } from "../machine/user-patches";

export const pluginPaths: Check = {
  id: "plugin-paths",
  source: "talos#13346: LD_LIBRARY_PATH and glibc roots of Talos ≤ 1.12 break the plugin on 1.13",
  find: ({ spec, plan }) => {
    if (plan.era === "legacy") return [];
    const env = valueAt(spec.gpuOperator?.values, "devicePlugin", "env");
    return ["LD_LIBRARY_PATH", "CONTAINER_DRIVER_ROOT", "DRIVER_ROOT_CTR_PATH", "NVIDIA_DRIVER_ROOT"]
      .filter((name) => /glibc/.test(envOf(env, name) ?? ""))
      .map((name) => ({
        field: "gpuOperator.values.devicePlugin.env",
        problem: `${name} names a glibc prefix`,
        why: "Talos ≥ 1.13 has the libraries under /usr/local/lib: NVML fails to load and the node offers no GPU",
        remedy: "leave it out",
      }));
  },
};
