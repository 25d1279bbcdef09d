import { allPatches, type Check, type CheckContext, type CheckedMachine } from "./check";
import { isMapping, valueAt } from "../mapping";
import { ofKubelet } from "./placement";
import { labelValue, qualifiedName, shown, type Fault } from "../rules";

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

/** What is wrong with a label that a machine or a patch of it says, for the check to put its field beside. */
function labelFault(machine: CheckedMachine, key: string, text: string, context: CheckContext): Fault | undefined {
  const byKubelet = key === "kubernetes.io/hostname" ? [machine.name] : Object.hasOwn(ofKubelet, key) && ofKubelet[key];
  if (byKubelet && !byKubelet.includes(text))
    return {
      problem: `${key}: "${text}" is not the value that the kubelet sets`,
      why: "the kubelet sets this label itself, so pods that select this value would find no node",
      remedy: "leave it out",
    };
  const configurations = key === "nvidia.com/device-plugin.config" ? pluginConfigurations(context) : [];
  if (configurations.length > 0 && !configurations.includes(text))
    return {
      problem: `${key}: "${text}" names no configuration of the device plugin (there are: ${configurations.join(", ")})`,
      why: "the plugin waits for one of that name, and the node offers no GPU",
      remedy: "name one of them, or leave it out: the default one follows",
    };
  const off = machine.gpuCount > 0 && turnedOff(context, key, text);
  const ours = Object.hasOwn(machine.recipe.nodeLabels, key) ? machine.recipe.nodeLabels[key] : undefined;
  if (!off && (ours === undefined || ours === text)) return undefined;
  return {
    problem: `${key}: "${text}" ${off ? "turns the GPU off" : `conflicts with the value that the stack sets, "${ours}"`}`,
    why: "NVIDIA's pods are placed by this label, so the node would offer no GPU",
    remedy: "leave it out",
  };
}

/** Names of the device plugin's configurations; none where they are in a ConfigMap of somebody else's. */
function pluginConfigurations({ plan, spec }: CheckContext): string[] {
  const values = plan.kubernetes.release.values;
  const [section, texts] = spec.gpuOperator
    ? [valueAt(values, "devicePlugin", "config"), "data"]
    : [valueAt(values, "config"), "map"];
  const all = valueAt(section, texts);
  return isMapping(all) ? Object.keys(all) : [];
}

/** Labels are Kubernetes', and none takes away what the stack needs. */
export const nodeLabels: Check = {
  id: "node-labels",
  source: "Kubernetes, labels; gpu-operator, controllers/state_manager.go (a label of the user is kept)",
  find: (context) => [
    context.machines.map((machine) =>
      Object.entries(machine.spec.labels ?? {}).map(([key, text]) => {
        const field = `${machine.field}.labels.${key}`;
        const form = qualifiedName(key) ?? labelValue(text);
        if (form) return { field, ...form, problem: `${key}: ${shown(text)} is not a label (${form.problem})` };
        const fault = labelFault(machine, key, text, context);
        return fault && { field, ...fault };
      }),
    ),
    allPatches(context).map(({ patch, machines }) =>
      [...patch.nodeLabels, ...patch.kubeletLabels].map(([key, text]) => {
        const [fault] = machines.flatMap((machine) => labelFault(machine, key, text, context) ?? []);
        return fault && { field: patch.field, ...fault };
      }),
    ),
  ],
};
