import { contractMinor } from "../facts/contract";
import type { PlannedMachine } from "../machine/planned-machine";
import { readSchematic } from "../machine/schematic";
import { defined, filled } from "../mapping";
import { formatDuration, durationValue } from "../rules/duration";
import { partHashes } from "./parts";
import { longestAway } from "./upgrade-phases";
import { needsBoot, waitsForBoot, updateEffectOf } from "./update-effect";

/**
 * The wanted state of a machine, grouped by the effect of a change on the machine. The component `GpuMachine` has these
 * groups as inputs, so a preview shows a change under the name of its effect. All values follow from the stack, so a
 * preview shows no difference if the stack has not changed.
 */
export interface MachineState {
  address: string;
  /** `owned`, `adopted` or `omni`. */
  configuration: string;
  /** Talos release that the machine runs today, according to the stack's field `runningVersion`. */
  runningVersion?: string;
  /** NVIDIA driver of the image; only the branch if the package assumes the version. */
  driver?: string;
  /** Fields whose change reboots the machine. */
  rebootsIfChanged: Changeable;
  /** Fields whose change reboots the machine only if the machine's configuration also becomes different. */
  mayRebootIfChanged?: Changeable;
  /** Fields whose change does not reboot the machine. */
  changesWithoutReboot: Changeable;
  /** How the machine is drained: `for at most 5m`, `no` if the stack turns draining off, or `by Omni`. */
  drainedBeforeReboot: string;
  /**
   * Longest time from the drain until the node accepts pods again, e.g. `40m`. This is the sum of the time limits of
   * all waits in this period, if the machine is up when the update begins.
   */
  awayForAtMost: string;
  /** Set if the node stays cordoned after the reboot until the machine's smoke test has passed. */
  awaitsTest?: true;
  /** Whether the update installs the machine from maintenance mode. */
  installs?: true;
}

/** Fields of a machine, and hashes of the parts of its configuration. */
export interface Changeable {
  talosVersion?: string;
  schematicId?: string;
  /** Installer image, if the stack names one. */
  installerImage?: string;
  extensions?: string[];
  kernelArgs?: string[];
  /** Minor release whose features a generated configuration uses. */
  contract?: string;
  /** Text whose change makes an update inspect the machine again. */
  reconcileToken?: string;
  clusterName?: string;
  clusterEndpoint?: string;
  kubernetesVersion?: string;
  role?: string;
  /** Hashes of the patches' parts, by the part's name, e.g. `machine.files`. */
  parts?: Record<string, string>;
  labels?: Record<string, string>;
  taints?: Record<string, string>;
}

/**
 * The wanted state of a machine. The function is pure, so a preview, the command `plan` and the lab get the same state.
 */
export function machineState(machine: PlannedMachine): MachineState {
  const omni = machine.configuration === "omni";
  const gpu = machine.kernelModules.length > 0;
  const driver = machine.driverBranch ?? machine.driverVersion;
  // Before the upgrade program reads the machine, Omni applies a configuration in the mode that Talos chooses
  // (siderolabs/omni, machineconfig/status.go: mode auto). Omni also does so for a machine in maintenance mode
  // (`staged_if_needing_reboot`).
  const appliesLive = omni || machine.installs;
  const isPendingUntilBoot = (part: string): boolean =>
    !appliesLive && waitsForBoot(part, machine.talosVersion, gpu);
  const partsAtBoot: Record<string, string> = {};
  const partsLive: Record<string, string> = {};
  for (const [part, hash] of Object.entries(partHashes(machine.patches))) {
    const boots =
      updateEffectOf({ image: false, configuration: true, boot: isPendingUntilBoot(part) }) ===
      "reboot";
    (boots || needsBoot(part, machine.talosVersion) ? partsAtBoot : partsLive)[part] = hash;
  }
  const { extensions = [], kernelArgs = [] } = readSchematic(machine.schematic) ?? {};
  const { atBoot: changesAtBoot, live: changesLive } =
    machine.configuration === "owned"
      ? generatedOf(machine, isPendingUntilBoot("machine.type"))
      : {};
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
      ...changesAtBoot,
      ...filled({ parts: partsAtBoot }),
    },
    ...filled({
      mayRebootIfChanged: defined({ contract, reconcileToken: machine.reconcileToken }),
    }),
    changesWithoutReboot: {
      ...changesLive,
      ...filled({
        parts: partsLive,
        labels: machine.nodeLabels,
        taints: Object.fromEntries(
          machine.nodeTaints.map(({ key, value = "", effect }) => [key, `${value}:${effect}`]),
        ),
      }),
    },
    drainedBeforeReboot: drainOf(machine),
    awayForAtMost: awayOf(machine),
    ...(machine.awaitsTest && machine.drain ? { awaitsTest: true as const } : {}),
    ...(machine.installs ? { installs: true as const } : {}),
  };
}

/**
 * Inputs of the configuration that Talos generates for an owned machine, grouped by whether their change takes effect
 * only at a boot. Every Talos release applies a change of `cluster`, and of the kubelet, at once.
 */
function generatedOf(
  { clusterName, clusterEndpoint, kubernetesVersion, role }: PlannedMachine,
  roleNeedsBoot: boolean,
): { atBoot: Changeable; live: Changeable } {
  const ofCluster = defined({ clusterName, clusterEndpoint, kubernetesVersion });
  return roleNeedsBoot
    ? { atBoot: { role }, live: ofCluster }
    : { atBoot: {}, live: { ...ofCluster, role } };
}

function drainOf({ configuration, drain, timeouts }: PlannedMachine): string {
  if (configuration === "omni") return "by Omni";
  return drain ? `for at most ${timeouts.drain}` : "no";
}

/** Sum of the program's waits during which no pod can run on the machine (`upgrade`; with Omni `waitForOmni`). */
function awayOf({ configuration, drain, timeouts }: PlannedMachine): string {
  const ms = (text: string): number => durationValue(text) ?? 0; // A check reports an invalid duration.
  const { pull, drain: leave, reboot, verify } = timeouts;
  const limits = { pull: ms(pull), drain: ms(leave), reboot: ms(reboot), verify: ms(verify) };
  if (configuration === "omni") return formatDuration(2 * limits.reboot + limits.verify);
  return formatDuration(longestAway(limits, drain));
}
