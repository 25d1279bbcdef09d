import { contractMinor } from "../facts/contract";
import type { PlannedMachine } from "../machine/planned-machine";
import { readSchematic } from "../machine/schematic";
import { defined, filled } from "../mapping";
import { formatDuration, durationValue } from "../rules/duration";
import { partHashes } from "./parts";
import { longestAway } from "./upgrade-phases";
import { needsBoot, waitsForBoot, updateEffectOf } from "./update-effect";

/**
 * The wanted state of a machine, sorted by what a change of it does to the machine. These are the inputs of the
 * component `GpuMachine`, so a preview shows a change under the words that say what comes of it. All of it follows
 * from the stack: an update that changes nothing shows nothing.
 */
export interface MachineState {
  address: string;
  /** `owned`, `adopted` or `omni`. */
  configuration: string;
  /** Release that the stack says it runs today. */
  runningVersion?: string;
  /** NVIDIA driver of its image; only its branch where the very version is assumed. */
  driver?: string;
  /** A change of any of these reboots the machine. */
  rebootsIfChanged: Changeable;
  /** A change of these reboots it where it turns out that the machine's configuration changes by it. */
  mayRebootIfChanged?: Changeable;
  /** A change of these does not reboot it. */
  changesWithoutReboot: Changeable;
  /** `for at most 5m`; `no` where the stack says so; `by Omni` on its machines. */
  drainedBeforeReboot: string;
  /**
   * From the drain to the node that takes pods again, e.g. `40m`: what the update's waits allow, for a machine that
   * is up when it begins.
   */
  awayForAtMost: string;
  /** The machine is installed from maintenance mode. */
  installs?: true;
}

/** Fields of a machine, and hashes of the parts of its configuration. */
export interface Changeable {
  talosVersion?: string;
  schematicId?: string;
  /** Where it is the user's own. */
  installerImage?: string;
  extensions?: string[];
  kernelArgs?: string[];
  /** Minor release whose features a generated configuration uses. */
  contract?: string;
  /** The stack's word by which the machine is looked at again. */
  reconcileToken?: string;
  clusterName?: string;
  clusterEndpoint?: string;
  kubernetesVersion?: string;
  role?: string;
  /** Hashes of what the patches say, by part, e.g. `machine.files`. */
  parts?: Record<string, string>;
  labels?: Record<string, string>;
  taints?: Record<string, string>;
}

/** The state of a machine. Pure, and told alike by a preview, by a plan on paper and by the lab. */
export function machineState(machine: PlannedMachine): MachineState {
  const omni = machine.configuration === "omni";
  const gpu = machine.kernelModules.length > 0;
  const driver = machine.driverBranch ?? machine.driverVersion;
  // Omni applies a configuration as Talos takes it before the upgrade program looks (siderolabs/omni,
  // machineconfig/status.go: mode auto). It applies that of a machine from maintenance mode in the same way
  // (`staged_if_needing_reboot`).
  const appliesLive = omni || machine.installs;
  const waits = (part: string): boolean =>
    !appliesLive && waitsForBoot(part, machine.talosVersion, gpu);
  const boot: Record<string, string> = {};
  const live: Record<string, string> = {};
  for (const [part, hash] of Object.entries(partHashes(machine.patches))) {
    const boots =
      updateEffectOf({ image: false, configuration: true, boot: waits(part) }) === "reboot";
    (boots || needsBoot(part, machine.talosVersion) ? boot : live)[part] = hash;
  }
  const { extensions = [], kernelArgs = [] } = readSchematic(machine.schematic) ?? {};
  const { boots, stays } = machine.configuration === "owned" ? generatedOf(machine, waits) : {};
  const contract = machine.configuration === "owned" ? contractMinor(machine.contract) : undefined;
  return {
    address: machine.address,
    configuration: machine.configuration,
    ...defined({ runningVersion: machine.runningVersion, driver }),
    rebootsIfChanged: {
      talosVersion: machine.talosVersion,
      // Omni makes the schematic from the extensions.
      ...(omni
        ? {}
        : machine.ownImage
          ? { installerImage: machine.installerImage }
          : { schematicId: machine.schematicId }),
      extensions,
      ...filled({ kernelArgs: omni ? [] : kernelArgs }),
      ...boots,
      ...filled({ parts: boot }),
    },
    ...filled({
      mayRebootIfChanged: defined({ contract, reconcileToken: machine.reconcileToken }),
    }),
    changesWithoutReboot: {
      ...stays,
      ...filled({
        parts: live,
        labels: machine.nodeLabels,
        taints: Object.fromEntries(
          machine.nodeTaints.map(({ key, value = "", effect }) => [key, `${value}:${effect}`]),
        ),
      }),
    },
    drainedBeforeReboot: drainOf(machine),
    awayForAtMost: awayOf(machine),
    ...(machine.installs ? { installs: true as const } : {}),
  };
}

/** Inputs of the generated part of an owned configuration, grouped by whether a change of them waits for a boot. */
function generatedOf(
  { clusterName, clusterEndpoint, kubernetesVersion, role }: PlannedMachine,
  waits: (part: string) => boolean,
): { boots: Changeable; stays: Changeable } {
  const ofCluster = defined({ clusterName, clusterEndpoint, kubernetesVersion });
  const [clusterWaits, roleWaits] = [waits("cluster"), waits("machine.type")];
  return {
    boots: { ...(clusterWaits ? ofCluster : {}), ...(roleWaits ? { role } : {}) },
    stays: { ...(clusterWaits ? {} : ofCluster), ...(roleWaits ? {} : { role }) },
  };
}

function drainOf({ configuration, drain, timeouts }: PlannedMachine): string {
  if (configuration === "omni") return "by Omni";
  return drain ? `for at most ${timeouts.drain}` : "no";
}

/** The waits of the program while pods cannot run there (`upgrade`; with Omni's `waitForOmni`). */
function awayOf({ configuration, drain, timeouts }: PlannedMachine): string {
  const ms = (text: string): number => durationValue(text) ?? 0; // a check names what is no duration
  const { pull, drain: leave, reboot, verify } = timeouts;
  const limits = { pull: ms(pull), drain: ms(leave), reboot: ms(reboot), verify: ms(verify) };
  if (configuration === "omni") return formatDuration(2 * limits.reboot + limits.verify);
  return formatDuration(longestAway(limits, drain));
}
