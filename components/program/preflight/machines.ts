import { waitFor, LimitReached, someAtATime, type Clock } from "../../clients/clock";
import { CallError, lastLine, type FieldFinding } from "../../clients/failure";
import { argsConflictFindings } from "../../recipe/machine/boot-args";
import { contractFinding } from "../../recipe/effect/findings";
import { multipathFinding, refusesMultipath } from "../../recipe/facts/multipath";
import { handlerLeftovers } from "../../recipe/machine/containerd/leftovers";
import { foreignCredentials } from "../../clients/certificates";
import type { Machine } from "../../clients/talos/talos-machine";
import type { Report } from "../progress";
import { checkImage } from "../seen/image";
import { installerAt } from "../../recipe/machine/schematic";
import { type Releases, wayOf } from "../seen/way";
import { isCordonedByUs } from "../cluster/cordon-mark";
import type { AskedNode, Cluster } from "../cluster/cluster";
import { askForRoom, type SizeOfImage } from "./boot-images";
import { failedParts } from "../seen/failed-parts";
import { askForSigner } from "./signer";
import type { AskedMachine, PreflightResult } from "./task";
import type { Places, Web } from "./web";
import { anotherNode, oldName } from "../seen/same-cluster";

/**
 * Time limit in milliseconds for a machine's answer. The preflight does not wait longer for a machine that is down,
 * because the upgrade program waits for that machine.
 */
const ANSWER = 15_000;

/**
 * Checks what the machines would lose with their next image. Also checks whether each machine can read its next
 * configuration, and whether it is the node of its name. A machine with unchanged fields and an unchanged address is
 * not checked again. A machine may lose parts that the stack itself added, because the user has removed them from the
 * stack on purpose.
 *
 * @param context.nodes nodes of the cluster; empty if they are unknown.
 */
export async function askMachines(
  machines: readonly AskedMachine[],
  previousMachines: PreflightResult["machines"],
  context: {
    machineAt: (address: string) => Machine;
    talosconfig: string | undefined;
    clock: Clock;
    report: Report;
    web: Web;
    places: Places;
    nodes: Promise<readonly AskedNode[]>;
    /** Releases that the Image Factory lists. */
    releases: Releases;
    /** Checks the installer images of the releases between a machine's current release and its wanted one. */
    installers: (images: string[]) => Promise<FieldFinding[]>;
    /** Sizes of installer images. */
    sizeOf: SizeOfImage;
  },
): Promise<FieldFinding[]> {
  const findings: FieldFinding[] = [];
  const bootIds: [AskedMachine, string][] = [];
  const reportedProblems = new Set<string>();
  const intermediateInstallers = new Set<string>();
  await someAtATime(changedMachines(machines, previousMachines), async (askedMachine) => {
    const { machine, address, schematicId } = askedMachine;
    const talos = context.machineAt(address);
    try {
      const {
        found: imageFindings,
        image,
        release,
        way: hopPath,
        bootId,
      } = await waitFor(context.clock, {
        subject: `an answer of machine ${machine}`,
        limit: ANSWER,
        poll: 1_000,
        look: async () => {
          const running = await talos.schematic();
          const ownSchematics = [schematicId, ...(previousMachines[machine]?.schematics ?? [])];
          const ownSchematic =
            running !== undefined && ownSchematics.includes(running) ? running : undefined;
          const image = await talos.image();
          const release = await talos.version();
          const asked = { ...askedMachine, runningRelease: release };
          const foundFindings = checkImage(asked, image, running, ownSchematic, context.report);
          foundFindings.push(...(await askForSigner(askedMachine, talos, image, context)));
          const installsImage = running !== schematicId || release !== askedMachine.talosVersion;
          if (installsImage && askedMachine.ownImage !== true)
            foundFindings.push(...argsConflictFindings(asked, image));
          const foundWay = await wayOf(askedMachine, talos, release, context.releases);
          if (foundWay.findings.length === 0)
            for (const hop of foundWay.hops)
              intermediateInstallers.add(installerAt(askedMachine.installerImage, hop));
          foundFindings.push(...foundWay.findings, ...checkContract(askedMachine, release));
          foundFindings.push(
            ...(await checkContainerd(askedMachine, talos)),
            ...(await checkMultipath(askedMachine, talos)),
          );
          return {
            done: {
              found: foundFindings,
              image,
              release,
              way: foundWay,
              bootId: await talos.bootId(),
            },
          };
        },
      });
      findings.push(...imageFindings);
      findings.push(
        ...(await askForRoom(askedMachine, image, release, hopPath.hops, context.sizeOf)),
      );
      bootIds.push([askedMachine, bootId]);
    } catch (error) {
      if (!(error instanceof LimitReached) && !(error instanceof CallError)) throw error;
      const foreign =
        error instanceof CallError
          ? foreignCredentials(error.message, context.talosconfig)
          : undefined;
      if (foreign === undefined)
        context.report(
          `${machine}: not known what the upgrade would remove from the machine (${lastLine(error)}); the machine's own update checks that again`,
        );
      else if (!reportedProblems.has(foreign.problem))
        findings.push({ ...foreign, field: `machines.${machine}: ${foreign.field}` });
      if (foreign !== undefined) reportedProblems.add(foreign.problem);
    }
  });
  const nodes = await context.nodes;
  for (const [askedMachine, bootId] of bootIds) {
    const previousName = oldName(askedMachine, bootId, nodes);
    if (previousName !== undefined)
      context.report(
        `warning: ${askedMachine.machine}: the machine is node ${previousName} now. The update renames the node to ${askedMachine.machine} and does not drain ${previousName}. To move its pods first, stop here and run \`kubectl drain ${previousName} --ignore-daemonsets --delete-emptydir-data\`. After the update, run \`kubectl delete node ${previousName}\``,
      );
  }
  return [
    ...findings,
    ...(intermediateInstallers.size > 0
      ? await context.installers([...intermediateInstallers].sort())
      : []),
    ...bootIds.flatMap(([machine, bootId]) => anotherNode(machine, bootId, nodes)),
  ];
}

/** Checks that a machine's current release can read the configuration that the machine gets before its upgrade. */
function checkContract({ machine, contract }: AskedMachine, release: string): FieldFinding[] {
  const finding = contract === undefined ? undefined : contractFinding(release, contract);
  return finding === undefined
    ? []
    : [{ field: `machines.${machine}.versionContract`, ...finding }];
}

/** Checks an adopted configuration for settings that need NVIDIA's runtime, if the next image lacks this runtime. */
async function checkContainerd(
  { machine, configuration, handler }: AskedMachine,
  talos: Machine,
): Promise<FieldFinding[]> {
  if (handler !== false || configuration !== "adopted") return [];
  const { active = "" } = await talos.configurations();
  return handlerLeftovers(active).map((finding) => ({
    field: `machines.${machine}: the machine's configuration`,
    ...finding,
  }));
}

/**
 * Checks an adopted configuration for settings of multipathd with which the service of the next release would wait
 * forever.
 */
async function checkMultipath(
  { machine, configuration, talosVersion, image }: AskedMachine,
  talos: Machine,
): Promise<FieldFinding[]> {
  if (configuration !== "adopted" || !refusesMultipath(talosVersion)) return [];
  const { active = "" } = await talos.configurations();
  const finding = multipathFinding(active, talosVersion, image?.extensions ?? []);
  return finding === undefined
    ? []
    : [{ field: `machines.${machine}: the machine's configuration`, ...finding }];
}

/** Machines whose fields or address changed in the stack. */
const changedMachines = (
  machines: readonly AskedMachine[],
  previousMachines: PreflightResult["machines"],
): AskedMachine[] =>
  machines.filter(({ machine, settingsHash, address }) => {
    const previous = previousMachines[machine];
    return (
      previous?.hash !== settingsHash ||
      (previous.place !== undefined && previous.place.addressOrUuid !== address)
    );
  });

/**
 * Warns of machines that a failed update has left in a bad state: with a cordoned node, or with a kubelet or control
 * plane that fails since a change without a reboot. Pulumi's state keeps the inputs of the upgrade program's last
 * successful run (pulumi-command, provider/pkg/provider/local/commandController.go: Update answers a failed run with a
 * plain error). So if the user reverts the stack, Pulumi finds nothing to do for the machine, and does not run the
 * upgrade program. But the preflight of the failed update succeeded, so Pulumi runs the preflight again for the
 * reverted stack.
 */
export async function warnOfFailedUpdates(
  machines: readonly AskedMachine[],
  previousMachines: PreflightResult["machines"],
  cluster: Pick<Cluster, "node">,
  {
    machineAt,
    clock,
    report,
  }: { machineAt: (address: string) => Machine; clock: Clock; report: Report },
): Promise<void> {
  const changed = changedMachines(machines, previousMachines).filter(
    ({ machine }) => previousMachines[machine] !== undefined,
  );
  await someAtATime(changed, async ({ machine, address }) => {
    try {
      if (isCordonedByUs(await cluster.node(machine)))
        report(
          `warning: ${machine}: an earlier update did not finish: node ${machine} is still cordoned. The machine may be half upgraded, or its smoke test has not passed. ` +
            "If you have undone the edit that caused that update, also change `reconcileToken`: otherwise Pulumi sees no change and leaves the machine cordoned.",
        );
      const { unmet } = await waitFor(clock, {
        subject: `the status of machine ${machine}`,
        limit: ANSWER,
        poll: 1_000,
        look: async () => ({ done: await machineAt(address).status() }),
      });
      const failed = failedParts(unmet);
      if (failed.length > 0)
        report(
          `warning: ${machine}: ${failed.join(", ")}. If an earlier update caused this, and you have undone its edit, also change \`reconcileToken\`: otherwise Pulumi sees no change, and the machine keeps the setting of that update.`,
        );
    } catch (error) {
      if (!(error instanceof CallError) && !(error instanceof LimitReached)) throw error;
      report(
        `${machine}: not known whether a failed update left it in a bad state (${lastLine(error)})`,
      );
    }
  });
}
