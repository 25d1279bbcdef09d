import { createHash } from "node:crypto";
import {
  baseSpec,
  customizationPath,
  containerdPart,
  parseToml,
  runtimePlugin,
} from "../../components/recipe/machine/containerd/containerd";
import {
  customizationsIn,
  legacyCustomization,
  mergedConfigurationPath,
} from "../../components/recipe/machine/containerd/effective";
import { injectionOf } from "../../components/recipe/facts/talos-release";
import { filled, valueAt } from "../../components/recipe/mapping";
import type { ContainerdSpec } from "../../components/recipe/index";
import type { TalosMachine } from "../../components/clients/talos/talos-machine";
import type { SeenMachine } from "./seen";

/**
 * containerd's options as a machine reports them: the file 20-customization.part, or the configuration that Talos
 * merged.
 */
export async function readContainerd(
  machine: Pick<TalosMachine, "read">,
): Promise<Pick<SeenMachine, "containerdPart" | "mergedContainerd">> {
  const containerdPart = (await machine.read(customizationPath)) ?? "";
  const merged = (await machine.read(mergedConfigurationPath)) ?? "";
  return {
    containerdPart,
    ...(customizationsIn(merged).length > 0 ? { mergedContainerd: merged } : {}),
  };
}

/**
 * Folders of CDI specifications that containerd reads without an option of the stack: containerd's default folders, and
 * the folder that Talos adds.
 */
const usualFolders = ["/etc/cdi", "/var/run/cdi", "/run/cdi"];

/** The stack's field `containerd` for a machine; undefined if the stack needs no options. */
export function containerdOf(
  machine: SeenMachine,
  note: (text: string) => void,
): ContainerdSpec | undefined {
  const part = machine.containerdPart?.trim() ?? "";
  if (part !== "") return specOfPart(part, machine, note);
  return machine.mergedContainerd === undefined
    ? undefined
    : specOfMerged(machine.mergedContainerd, machine, note);
}

/** Options from the file 20-customization.part, which Talos up to 1.13 writes. */
function specOfPart(
  part: string,
  machine: SeenMachine,
  note: (text: string) => void,
): ContainerdSpec | undefined {
  const [, list = ""] = /cdi_spec_dirs\s*=\s*\[([^[\]]*)\]/.exec(part) ?? [];
  const dirs = [...list.matchAll(/"([^"]+)"/g)].map(([, dir = ""]) => dir);
  const candidates = foldersOf(dirs).flatMap((cdiSpecDirs) =>
    [false, true].flatMap((nvidiaDefaultRuntime) =>
      [false, true].map((baseRuntimeSpec) =>
        optionsOf(cdiSpecDirs, nvidiaDefaultRuntime, baseRuntimeSpec),
      ),
    ),
  );
  const exactSpec = candidates.find((spec) => textOf(spec, machine)?.trim() === part);
  if (exactSpec === undefined)
    note(
      "the machine's configuration writes /etc/cri/conf.d/20-customization.part: set the same options under containerd here. Otherwise the update stops, because this machine's configuration and the stack would write the same file",
    );
  return exactSpec;
}

/**
 * Options from the configuration that Talos merges from 1.14 on. The merged configuration names the source and the hash
 * of each part. The hash shows whether the stack would write the same part.
 */
function specOfMerged(
  merged: string,
  machine: SeenMachine,
  note: (text: string) => void,
): ContainerdSpec | undefined {
  const customizations = customizationsIn(merged);
  const otherCustomizations = customizations
    .map(({ name }) => name)
    .filter((name) => name !== legacyCustomization);
  if (otherCustomizations.length > 0)
    note(
      `the machine's configuration sets containerd's options in CRICustomizationConfig ${otherCustomizations.join(", ")}, which the stack does not change`,
    );
  const legacyFile = customizations.find(({ name }) => name === legacyCustomization);
  if (legacyFile === undefined) return undefined;
  const { table } = parseToml(merged);
  const runtime = valueAt(table, "plugins", runtimePlugin);
  const dirs = valueAt(runtime, "cdi_spec_dirs");
  const isDefault = valueAt(runtime, "containerd", "default_runtime_name") === "nvidia";
  const hasBase =
    valueAt(runtime, "containerd", "runtimes", "nvidia", "base_runtime_spec") === baseSpec;
  const candidates = foldersOf(Array.isArray(dirs) ? dirs.map(String) : []).map((cdiSpecDirs) =>
    optionsOf(cdiSpecDirs, isDefault, hasBase),
  );
  const isWhole = (spec: ContainerdSpec): boolean => {
    const text = textOf(spec, machine);
    return text !== undefined && [text, text.trim()].map(sha256).includes(legacyFile.sha256);
  };
  const exactSpec = candidates.find(isWhole);
  if (exactSpec !== undefined) return exactSpec;
  note(
    "the machine's configuration sets containerd's options (machine.files, 20-customization.part): set the same options under containerd here. Otherwise the update stops, because this machine's configuration and the stack would write the same file",
  );
  const [likelySpec = {}] = candidates;
  return otherCustomizations.length === 0 && Object.keys(likelySpec).length > 0
    ? likelySpec
    : undefined;
}

/** Possible values of the option `cdiSpecDirs`: the folders that are not in `usualFolders`, or all folders. */
const foldersOf = (dirs: string[]): string[][] => [
  dirs.filter((dir) => !usualFolders.includes(dir)),
  dirs,
];

function optionsOf(
  cdiSpecDirs: string[],
  nvidiaDefaultRuntime: boolean,
  baseRuntimeSpec: boolean,
): ContainerdSpec {
  return filled({
    nvidiaDefaultRuntime: nvidiaDefaultRuntime ? true : undefined,
    baseRuntimeSpec: baseRuntimeSpec ? true : undefined,
    cdiSpecDirs,
  });
}

/** The part of containerd's configuration that the stack would write for these options. */
const textOf = (
  spec: ContainerdSpec,
  { talosVersion = "v1.12.0" }: SeenMachine,
): string | undefined => containerdPart(spec, injectionOf(talosVersion)).toml;

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
