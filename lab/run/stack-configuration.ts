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
  const { read, assumptions } = withoutOwnImages(readStackFile(nameOrFile));
  const ran = options.machines === "real" ? onReal(read, options.card) : read;
  const config = {
    ...withServedImages(ran, options),
    timeouts: labTimeouts({ ...options, leftOut: without.length > 0 }),
  };
  return { config, spec: clusterOf(config), assumptions };
}

/**
 * Name of an installer with a schematic ID, whose content the lab's Factory knows (lab/machines,
 * talos/factory/image.go).
 */
const served = /^[^/]+\/(?:[a-z0-9]+-)?installer(?:-secureboot)?\/[0-9a-f]{64}:/;

/** The stack with the Image Factory's installer instead of the user's own image, whose content is unknown here. */
function withoutOwnImages(read: Record<string, unknown>): {
  read: Record<string, unknown>;
  assumptions: string[];
} {
  if (!JSON.stringify(read).includes("installerImage")) return { read, assumptions: [] };
  const assumptions: string[] = [];
  const machines = Object.entries(clusterOf(read).machines).map(
    ([name, { installerImage, ...machine }]) => {
      if (installerImage === undefined || served.test(installerImage))
        return [name, { ...machine, installerImage }];
      assumptions.push(
        `assumes that ${installerImage} of ${name} holds what the Image Factory's would`,
      );
      return [name, machine];
    },
  );
  const { pools: _pools, machineDefaults: _defaults, ...rest } = read;
  return { read: { ...rest, machines: Object.fromEntries(machines) as unknown }, assumptions };
}

/**
 * The stack for machines that run real Talos: with the release nearest to the stack's, and the patches that the owner
 * of such a machine writes.
 */
function onReal(
  config: Record<string, unknown>,
  card: string | undefined,
): Record<string, unknown> {
  const { talosVersion, machines } = clusterOf(config);
  const site = siteOf(clusterOf(config));
  const ofEach = Object.entries(machines).map(
    ([name, { talosVersion: _one, patches = [], ...machine }]) => {
      const more = ownPatches(site, { control: machine.role === "controlplane", card }).map(
        (patch) => stringify(patch),
      );
      return [
        name,
        {
          ...machine,
          ...(machine.configuration === "owned" ? { patches: [...patches, ...more] } : {}),
        },
      ];
    },
  );
  const release = card === undefined ? nearestRelease(talosVersion) : talosVersion;
  return { ...config, talosVersion: release, machines: Object.fromEntries(ofEach) as unknown };
}
