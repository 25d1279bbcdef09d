import type { Check } from "./check";
import { strategiesIn } from "../kubernetes/plugin-release";
import { envOf } from "../kubernetes/values";
import type { Plan } from "../types";
import { parseToml } from "../machine/containerd/containerd";
import { valueAt } from "../mapping";

/** Whether a pod gets its card without NVIDIA's runtime: the operator of Talos ≥ 1.13 hands out by CDI unless it is told otherwise. */
function byCdi({ kubernetes: { mode, release } }: Plan): boolean {
  const { values } = release;
  const said =
    mode === "devicePlugin"
      ? values["deviceListStrategy"]
      : valueAt(values, "cdi", "enabled") === false
        ? "envvar"
        : (envOf(valueAt(values, "devicePlugin", "env"), "DEVICE_LIST_STRATEGY") ?? "cdi-cri");
  return strategiesIn(said).some((word) => word.startsWith("cdi-"));
}

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
      if (machine.gpuCount === 0)
        return {
          field,
          problem: "makes nvidia the default runtime of a machine without a GPU",
          why: "the handler comes with NVIDIA's toolkit: without it no pod of the machine starts",
          remedy: "leave it out, or name the machine's cards under gpus",
        };
      if (plan.era === "legacy") return [];
      return {
        field,
        problem: "makes nvidia the default runtime on Talos ≥ 1.13",
        why: "devices come by CDI annotations there, and a runtime that adds cards by itself on top gives them to pods that request none",
        remedy: byCdi(plan)
          ? "leave it out: pods that request nvidia.com/gpu get their card by CDI, without runtimeClassName"
          : "leave it out, and give every pod that gets a card `runtimeClassName: nvidia`, or have the device plugin hand cards out by CDI, to pods of any runtime: " +
            (plan.kubernetes.mode === "devicePlugin"
              ? "deviceListStrategy: cdi-cri and nvidiaDriverRoot: / in its values, with 0.17.4 or newer"
              : "leave cdi.enabled and DEVICE_LIST_STRATEGY out of the operator's values"),
      };
    }),
};
