import type { FixId } from "../../components/diagnosis";
import type { ClusterSpec } from "../../components/recipe";
import { stringify } from "yaml";
import { clusterOf, readStackFile } from "../../stacks/stack-file";
import { labTimeouts } from "../clock";
import type { LabOptions } from "../options";
import { nearestRelease } from "../talos";
import { ownPatches, siteOf } from "../talos/site";
import { withServedImages } from "./served-images";

/** A stack's configuration as the lab runs it. */
export interface StackConfiguration {
  /** Configuration by key, without the project's name. */
  config: Record<string, unknown>;
  spec: ClusterSpec;
  /** Assumptions of the lab, in words. Default: none. */
  assumptions?: string[];
}

/**
 * A stack file with the lab's limits.
 *
 * @param nameOrFile of the stack.
 * @param without fixes that are left out. Default: none.
 * @throws Error when there is no such stack, or when its shape is wrong.
 */
export function stackConfiguration(
  nameOrFile: string,
  options: Pick<LabOptions, "timeScale" | "machines" | "card">,
  without: readonly FixId[] = [],
): StackConfiguration {
  const { config: stackFileConfig, assumptions } = withoutOwnImages(readStackFile(nameOrFile));
  const machinesConfig =
    options.machines === "real" ? forRealMachines(stackFileConfig, options.card) : stackFileConfig;
  const config = {
    ...withServedImages(machinesConfig, options),
    timeouts: labTimeouts({ ...options, leftOut: without.length > 0 }),
  };
  return { config, spec: clusterOf(config), assumptions };
}

/**
 * Name of an installer with a schematic ID, whose content the lab's Factory knows (lab/machines,
 * talos/factory/image.go).
 */
const servedInstaller = /^[^/]+\/(?:[a-z0-9]+-)?installer(?:-secureboot)?\/[0-9a-f]{64}:/;

/** The stack with the Image Factory's installer instead of the user's own image, whose content is unknown here. */
function withoutOwnImages(config: Record<string, unknown>): {
  config: Record<string, unknown>;
  assumptions: string[];
} {
  if (!JSON.stringify(config).includes("installerImage")) return { config, assumptions: [] };
  const assumptions: string[] = [];
  const machines = Object.entries(clusterOf(config).machines).map(
    ([name, { installerImage, ...machine }]) => {
      if (installerImage === undefined || servedInstaller.test(installerImage))
        return [name, { ...machine, installerImage }];
      assumptions.push(
        `assumes that ${installerImage} of ${name} holds what the Image Factory's would`,
      );
      return [name, machine];
    },
  );
  const { pools: _pools, machineDefaults: _defaults, ...rest } = config;
  return { config: { ...rest, machines: Object.fromEntries(machines) as unknown }, assumptions };
}

/**
 * The stack for machines that run real Talos: with the release nearest to the stack's, and the patches that the owner
 * of such a machine writes.
 */
function forRealMachines(
  config: Record<string, unknown>,
  card: string | undefined,
): Record<string, unknown> {
  const { talosVersion, machines } = clusterOf(config);
  const site = siteOf(clusterOf(config));
  const patchedMachines = Object.entries(machines).map(
    ([name, { talosVersion: _ownVersion, patches = [], ...machine }]) => {
      const ownerPatches = ownPatches(site, { control: machine.role === "controlplane", card }).map(
        (patch) => stringify(patch),
      );
      return [
        name,
        {
          ...machine,
          ...(machine.configuration === "owned" ? { patches: [...patches, ...ownerPatches] } : {}),
        },
      ];
    },
  );
  const release = card === undefined ? nearestRelease(talosVersion) : talosVersion;
  return {
    ...config,
    talosVersion: release,
    machines: Object.fromEntries(patchedMachines) as unknown,
  };
}
