import type { Check } from "./check";
import { parseToml } from "../machine/containerd/containerd";
import { valueAt } from "../machine/user-patches";

/** `nvidia` is the default runtime only on machines with a GPU, and before Talos 1.13. */
export const defaultRuntime: Check = {
  id: "default-runtime",
  source: "siderolabs/extensions, 10-nvidia-container-runtime.part; k8s-device-plugin, docs/cdi.md",
  find: ({ machines, plan }) =>
    machines.flatMap((machine) => {
      const spec = machine.spec.containerd;
      const inExtra =
        valueAt(
          parseToml(spec?.extra ?? "").table,
          "plugins",
          "io.containerd.cri.v1.runtime",
          "containerd",
          "default_runtime_name",
        ) === "nvidia";
      if (!spec?.nvidiaDefaultRuntime && !inExtra) return [];
      const field = `${machine.field}.containerd.${spec?.nvidiaDefaultRuntime ? "nvidiaDefaultRuntime" : "extra"}`;
      if (machine.gpuCount === 0) {
        return [
          {
            field,
            problem: "makes nvidia the default runtime of a machine without a GPU",
            why: "the handler comes with NVIDIA's toolkit: without it no pod of the machine starts",
            remedy: "leave it out, or name the machine's cards under gpus",
          },
        ];
      }
      if (plan.era === "legacy") return [];
      return [
        {
          field,
          problem: "makes nvidia the default runtime on Talos ≥ 1.13",
          why: "devices come by CDI annotations there, and a runtime that adds cards by itself on top gives them to pods that request none",
          remedy: "leave it out: pods that request nvidia.com/gpu get their card by CDI",
        },
      ];
    }),
};
