import type { Check, CheckContext } from "./check";

const name = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const value = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/;
const prefix = /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/;

function isKey(key: string): boolean {
  const parts = key.split("/");
  return parts.length === 1
    ? name.test(key)
    : parts.length === 2 && prefix.test(parts[0] ?? "") && name.test(parts[1] ?? "");
}

/**
 * What a label turns off when it is not "true"; the operator itself fills in an empty one. Parts that nothing waits for,
 * like dcgm-exporter, may be off (gpu-operator, controllers/state_manager.go; assets/state-*, nodeSelector of each DaemonSet).
 */
function turnedOff({ plan, spec }: CheckContext, key: string, text: string): boolean {
  if (key === "nvidia.com/gpu.present") return text !== "true";
  if (plan.kubernetes.mode !== "operator") return false;
  if (key === "nvidia.com/gpu.deploy.operands") return text === "false";
  const splits = spec.sharing?.mig !== undefined;
  const needed = ["device-plugin", ...(plan.era === "cdi" ? ["operator-validator"] : [])];
  const parts = [...needed, ...(splits ? ["mig-manager", "gpu-feature-discovery"] : [])];
  return parts.some((part) => key === `nvidia.com/gpu.deploy.${part}`) && text !== "true" && text !== "";
}

export const nodeLabels: Check = {
  id: "node-labels",
  source: "Kubernetes, labels; gpu-operator, controllers/state_manager.go (a label of the user is kept)",
  find: (context) =>
    context.machines.flatMap((machine) =>
      Object.entries(machine.spec.labels ?? {}).flatMap(([key, text]) => {
        const field = `${machine.field}.labels.${key}`;
        if (!isKey(key) || !value.test(text)) {
          return [
            {
              field,
              problem: `${key}: "${text}" is no label`,
              why: "Kubernetes refuses it when the node is labelled, after the machine was upgraded",
              remedy: "use letters, digits, `-`, `_` and `.`, at most 63 of them",
            },
          ];
        }
        const turnsOff = machine.gpuCount > 0 && turnedOff(context, key, text);
        const ours = machine.recipe.nodeLabels[key];
        if (turnsOff || (ours !== undefined && ours !== text)) {
          return [
            {
              field,
              problem: `${key}: "${text}" ${turnsOff ? "turns the GPU off" : `is against ours, "${ours}"`}`,
              why: "NVIDIA's pods are placed by this label, so the node would offer no GPU",
              remedy: "leave it out",
            },
          ];
        }
        return [];
      }),
    ),
};
