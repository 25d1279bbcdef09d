import { allPatches, type Check, type CheckContext, type CheckedMachine, type Complaint } from "./check";
import { asText, recordAt, type UserPatch } from "../machine/user-patches";
import { labelValue, qualifiedName, shown } from "../rules";

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

function labelComplaint(machine: CheckedMachine, key: string, text: string, context: CheckContext): Complaint[] {
  const field = `${machine.field}.labels.${key}`;
  const fault = qualifiedName(key) ?? labelValue(text);
  if (fault) return [{ field, ...fault, problem: `${key}: ${shown(text)} is no label (${fault.problem})` }];
  return against(machine, key, text, context).map((complaint) => ({ field, ...complaint }));
}

function against(
  machine: CheckedMachine,
  key: string,
  text: string,
  context: CheckContext,
): Omit<Complaint, "field">[] {
  const off = machine.gpuCount > 0 && turnedOff(context, key, text);
  const ours = Object.hasOwn(machine.recipe.nodeLabels, key) ? machine.recipe.nodeLabels[key] : undefined;
  if (!off && (ours === undefined || ours === text)) return [];
  return [
    {
      problem: `${key}: "${text}" ${off ? "turns the GPU off" : `is against ours, "${ours}"`}`,
      why: "NVIDIA's pods are placed by this label, so the node would offer no GPU",
      remedy: "leave it out",
    },
  ];
}

/** Labels that a patch gives the node: by Talos, and by the kubelet's own argument at its first registration. */
function patchLabels({ config }: UserPatch): [string, string][] {
  const byKubelet = asText(recordAt(config, "machine", "kubelet", "extraArgs")["node-labels"]).split(",");
  return [
    ...Object.entries(recordAt(config, "machine", "nodeLabels")).map(([key, value]): [string, string] => [
      key,
      asText(value),
    ]),
    ...byKubelet.flatMap((pair): [string, string][] => {
      const [key = "", value = ""] = pair.trim().split("=");
      return key === "" ? [] : [[key, value]];
    }),
  ];
}

export const nodeLabels: Check = {
  id: "node-labels",
  source: "Kubernetes, labels; gpu-operator, controllers/state_manager.go (a label of the user is kept)",
  find: (context) => [
    ...context.machines.flatMap((machine) =>
      Object.entries(machine.spec.labels ?? {}).flatMap(([key, text]) => labelComplaint(machine, key, text, context)),
    ),
    ...allPatches(context).flatMap(({ patch, machines }) =>
      patchLabels(patch).flatMap(([key, text]) => {
        const [complaint] = machines.flatMap((machine) => against(machine, key, text, context));
        return complaint === undefined ? [] : [{ field: patch.field, ...complaint }];
      }),
    ),
  ],
};
