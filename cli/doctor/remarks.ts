import type { Observations, ObservedPod } from "../../components/diagnosis/observations";
import { waitingForUnits } from "../../components/diagnosis/differences/waiting";
import { type Plan, readSchematic, renderFinding } from "../../components/recipe/index";
import { argsMissingIn } from "../../components/recipe/machine/kernel-args";
import { programError } from "../../components/diagnosis/known/cards";
import { escapeFinding } from "../../components/recipe/checks/machine-risks";
import { findRelease } from "../../components/recipe/facts/talos-release";
import { systemOf } from "../../components/diagnosis/system";

/** The reason why the observed cluster cannot be the plan's; undefined if it may be the plan's cluster. */
export function foreignCluster({ machines }: Plan, { nodes }: Observations): string | undefined {
  if (nodes === undefined || nodes.length === 0) return undefined;
  const machineNames = new Set(machines.map(({ name }) => name));
  if (nodes.some(({ name }) => machineNames.has(name))) return undefined;
  const list = (names: string[]): string =>
    `${names.slice(0, 5).join(", ")}${names.length > 5 ? ", …" : ""}`;
  return `this is not the stack's cluster: its nodes are ${list(nodes.map(({ name }) => name))}, but the stack's machines are ${list([...machineNames])}; use another kubeconfig or context, or run \`pulumi up\` first`;
}

/** Images that set NVIDIA_VISIBLE_DEVICES=all themselves: NVIDIA's CUDA images, and images that are built on them. */
const cudaImages = /(^|\/)(nvidia|nvcr\.io)\/|cuda|pytorch|tensorflow|(^|\/)(vllm|ollama)/i;

/**
 * Whether the NVIDIA runtime gives a pod cards: NVIDIA_VISIBLE_DEVICES of the pod decides, else the names of its
 * images.
 */
function getsCards({ visibleDevices, images = [] }: ObservedPod): boolean {
  if (visibleDevices === undefined) return images.some((image) => cudaImages.test(image));
  return !["void", "none", ""].includes(visibleDevices);
}

/** Remarks that are useful to know, but are no failures. */
export function remarks(observations: Observations, plan: Plan | undefined): string[] {
  const { namespace } = systemOf(observations, plan);
  const podsWithoutRequest = (observations.pods ?? []).filter(
    (pod) =>
      pod.runtimeClass === "nvidia" &&
      !pod.gpus &&
      pod.namespace !== namespace &&
      !["Succeeded", "Failed"].includes(pod.phase),
  );
  const podsWithAllCards = podsWithoutRequest
    .filter(getsCards)
    .map(
      ({ namespace: podNamespace, name }) =>
        `Pod ${podNamespace}/${name} sees every card without requesting one: RuntimeClass nvidia gives a container the cards in NVIDIA_VISIBLE_DEVICES, which CUDA images set to "all"; request nvidia.com/gpu, or set NVIDIA_VISIBLE_DEVICES to void`,
    );
  const untested = (observations.jobs ?? []).flatMap(
    ({ namespace: jobNamespace, name, untested: reason }) =>
      reason === undefined
        ? []
        : [
            `Job ${jobNamespace}/${name} could not test its machine: ${reason}; once a GPU is free, start the test with kubectl -n ${jobNamespace} patch job ${name} --type merge -p '{"spec":{"suspend":false}}'`,
          ],
  );
  const programErrors = (observations.machines ?? []).flatMap(({ name, errors = [] }) =>
    errors
      .filter((line) => programError.test(line))
      .map(
        (line) =>
          `machine ${name}: ${line}; a program caused this error, and the card still works. If a program that runs on other cards also causes this error, test the card`,
      ),
  );
  const escapes = (observations.machines ?? []).flatMap(
    ({ name, talosVersion = "", extensions = [] }) => {
      if (!extensions.some((extension) => extension.startsWith("nvidia-container-toolkit")))
        return [];
      const escape = escapeFinding(talosVersion, findRelease(talosVersion)?.drivers.toolkit);
      return escape ? [renderFinding({ field: `machine ${name}`, ...escape })] : [];
    },
  );
  return [
    ...podsWithAllCards,
    ...untested,
    ...programErrors,
    ...escapes,
    ...missingKernelArgs(observations, plan),
    ...waitingForUnits(observations),
  ];
}

/** Kernel arguments of the stack that a machine's running kernel does not have. */
function missingKernelArgs({ machines = [] }: Observations, plan: Plan | undefined): string[] {
  return (plan?.machines ?? []).flatMap(({ name, schematic }) => {
    const commandLine = machines.find((machine) => machine.name === name)?.commandLine;
    const plannedArgs = readSchematic(schematic)?.kernelArgs ?? [];
    const missingArgs = commandLine === undefined ? [] : argsMissingIn(plannedArgs, commandLine);
    return missingArgs.length === 0
      ? []
      : [
          `machine ${name}: the running kernel does not match these kernelArgs: ${missingArgs.join(" ")}; if the image has just changed, reboot the machine. GRUB takes arguments from the image only if the machine's configuration sets machine.install.grubUseUKICmdline`,
        ];
  });
}
