import { kernelArgsFor } from "../facts/card";
import { isolation } from "../facts/data/since.json";
import { escapesOf, firstTalosWithout } from "../facts/escapes";
import { nvidiaExtension } from "../facts/extension";
import { hasNoSwitch, hasSwitches } from "../facts/machine-facts";
import { parseTalosVersion } from "../facts/version";
import { gpuProviderOf } from "../facts/gpu-provider";
import { gpuPresent } from "../machine/machine-recipe";
import { valueAt } from "../mapping";
import type { FindingText } from "../rules";
import { valueOfDocument } from "../rules/yaml";
import { type Checks, findPerGpuMachine } from "./check";

/**
 * Checks of known risks for a machine's cards: in its image, its kernel and its configuration. These checks need no
 * access to the machine.
 */
export const machineRisks = {
  "container-escape": {
    severity: "warning",
    rule: "The container toolkit of the Talos version has no known vulnerability that lets a container escape to the host",
    source: "components/recipe/facts/data/escapes.json: NVIDIA's security bulletins",
    ofFiles: true,
    find: findPerGpuMachine((_machine, { spec, release }) => {
      const escape = escapeFinding(spec.talosVersion, release?.drivers.toolkit);
      return escape ? { field: "", ...escape } : undefined;
    }),
  },
  "workload-isolation": {
    severity: "warning",
    rule: "No GPU machine uses workload isolation, which is untested with a real card",
    source:
      "talos v1.14.1, SecurityProfileConfig (workloadIsolation): containerd, the kubelet and all pods have process and mount namespaces of their own",
    ofFiles: true,
    find: findPerGpuMachine(({ patches }, { clusterPatches }) =>
      [...clusterPatches, ...patches]
        .flatMap(({ documents }) => documents.map(valueOfDocument))
        .some(
          (value) =>
            valueAt(value, "kind") === isolation.document &&
            valueAt(value, "workloadIsolation") === true,
        )
        ? {
            field: "",
            problem: `no real card has been tried with workload isolation (${isolation.document})`,
            why: "containerd, the kubelet and all pods then run in separate process and mount namespaces. On Talos 1.14.1 whole stacks ran with it, but only in virtual machines with stand-ins for cards and kernel modules",
            remedy: "try one machine first (upgrade.first)",
          }
        : undefined,
    ),
  },
  "branch-targets": {
    severity: "warning",
    rule: "On Talos ≥ 1.13, each GPU machine with an overlay has the kernel argument arm64.nobti (only boards with an arm64 processor have an overlay)",
    source: "talos#13019 (a GB10)",
    ofFiles: true,
    find: findPerGpuMachine(
      // Only single-board computers have an overlay, and their processors are arm64.
      ({ cards, spec: { overlay, kernelArgs = [] } }, { spec: { talosVersion } }) =>
        cards.length > 0 &&
        overlay !== undefined &&
        kernelArgsFor(cards).length === 0 &&
        !kernelArgs.includes("arm64.nobti") &&
        (parseTalosVersion(talosVersion)?.minor ?? 0) >= firstWithBranchTargets
          ? {
              field: ".kernelArgs",
              problem: `from Talos 1.${firstWithBranchTargets} on the arm64 kernel uses branch target identification, which makes NVIDIA's modules crash on a GB10`,
              why: "it is unknown whether the modules also crash on other arm64 machines",
              remedy: "if the kernel log shows an Oops of nvidia, add arm64.nobti here",
            }
          : undefined,
    ),
  },
  "nvswitch-unknown": {
    severity: "warning",
    rule: "It is known whether a machine with the fabric manager has an NVSwitch",
    source:
      "NVIDIA Fabric Manager user guide, supported systems: SXM boards of eight cards have NVSwitches, SXM boards of four cards have none",
    ofFiles: true,
    find: findPerGpuMachine(({ uses, extensions }) =>
      extensions.some((extension) => nvidiaExtension(extension)?.kind === "fabricmanager") &&
      !hasSwitches(uses) &&
      !hasNoSwitch(uses)
        ? {
            field: ".extensions",
            problem: "it is unknown whether the machine has an NVSwitch",
            why: "without an NVSwitch the fabric manager exits at once with NV_WARN_NOTHING_TO_DO, and the update would wait for it",
            remedy:
              "if the machine has no NVSwitch, leave the fabric manager out (SXM boards of four cards have no NVSwitch)",
          }
        : undefined,
    ),
  },
  "own-image": {
    severity: "warning",
    rule: "The contents of each machine's image are known",
    source: "components/recipe/spec/machine.ts, installerImage: its owner makes the image",
    ofFiles: false,
    find: ({ machines }) =>
      machines.map(({ field, spec: { installerImage }, ...machine }) => {
        if (installerImage === undefined) return undefined;
        const { cards, gpuCount, extensions, flavour, branch } = machine;
        const args = kernelArgsFor(cards);
        const neededContents = `${extensions.join(", ")} (or your builds of them: ${flavour} modules, branch ${branch})${args.length > 0 ? `, and the kernel argument${args.length > 1 ? "s" : ""} ${args.join(" ")}` : ""}`;
        return {
          field: `${field}.installerImage`,
          problem:
            "the contents of the image are unknown, so the update cannot warn of extensions that the machine would lose",
          why: "the image is your own, and no list of its contents exists",
          remedy:
            gpuCount > 0
              ? `make sure that the image has ${neededContents}`
              : "make sure that the image has everything that the machine needs",
        };
      }),
  },
  "operators-label": {
    severity: "note",
    rule: "With the GPU Operator, no machine has nvidia.com/gpu.present under `labels`, because the operator sets this label",
    source: "gpu-operator v26.7.0, controllers/state_manager.go (gpuNodeLabels)",
    ofFiles: false,
    find: findPerGpuMachine(({ spec: { labels } }, { plan }) =>
      gpuProviderOf(plan.kubernetes.mode).findsNodes && labels?.[gpuPresent] !== undefined
        ? {
            field: `.labels.${gpuPresent}`,
            problem: "has no effect: only the operator sets this label",
            why: "the stack leaves this label to the operator, which sets it once Node Feature Discovery has found the card",
            remedy: "leave it out",
          }
        : undefined,
    ),
  },
} satisfies Checks;

/** First minor release whose kernel has branch target identification on arm64 (talos#13019). */
const firstWithBranchTargets = 13;

/**
 * Finding about published container escapes in a Talos version's container toolkit; undefined if none are published.
 */
export function escapeFinding(
  talosVersion: string,
  toolkit: string | undefined,
): FindingText | undefined {
  const escapes = toolkit === undefined ? [] : escapesOf(toolkit);
  if (toolkit === undefined || escapes.length === 0) return undefined;
  return {
    problem: `the container toolkit ${toolkit} of Talos ${talosVersion} has vulnerabilities that let a container escape to the host (${escapes.join(", ")})`,
    why: "a malicious container image can take over the machine",
    remedy: `use Talos ${firstTalosWithout(toolkit)} or newer, which has a toolkit without these vulnerabilities`,
  };
}
