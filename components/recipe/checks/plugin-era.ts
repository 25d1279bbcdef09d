import type { Check } from "./check";
import { valueAt } from "../machine/user-patches";

export const pluginEra: Check = {
  id: "plugin-era",
  source:
    "siderolabs/docs v1.13, nvidia-gpu and upgrading-talos: the standalone plugin is removed, the GPU Operator installed",
  find: ({ spec, plan }) => {
    // Who says the strategy knows what they are doing: the standalone plugin may work there, nobody vouches for it.
    if (
      !spec.devicePlugin ||
      plan.era === "legacy" ||
      valueAt(spec.devicePlugin.values, "deviceListStrategy") !== undefined
    )
      return [];
    return [
      {
        field: "devicePlugin",
        problem: `the standalone plugin on Talos ${spec.talosVersion}`,
        why: "from 1.13 on Talos exposes GPUs by CDI, documents and tests the GPU Operator only, and its upgrade notes remove the standalone plugin",
        remedy:
          "take `gpuOperator: { version: v26.3.3 }`, or say devicePlugin.values.deviceListStrategy (cdi-cri or cdi-annotations) to go on with the plugin all the same",
      },
    ];
  },
};
