import { waitFor, LimitReached, someAtATime, type Clock } from "../../clients/clock";
import { CallError, lastLine, type FieldFinding } from "../../clients/failure";
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
import { askForSigner } from "./signer";
import type { AskedMachine, PreflightResult } from "./task";
import type { Places, Web } from "./web";
import { anotherNode, oldName } from "../seen/same-cluster";

/**
 * Milliseconds for a machine to answer. The preflight does not wait for a machine that is down; the machine's own
 * update does.
 */
const ANSWER = 15_000;

/**
 * Checks what the machines would lose with their next image. Also checks whether each machine can read its next
 * configuration, and whether it is the node of its name. Machines that are unchanged in the stack, at the same address,
 * are not asked. Parts that the stack itself added may go: the user has removed them on purpose.
 *
 * @param around.nodes nodes of the cluster; empty if they are unknown.
 */
export async function askMachines(
  machines: readonly AskedMachine[],
  before: PreflightResult["machines"],
  around: {
    machineAt: (address: string) => Machine;
    talosconfig: string | undefined;
    clock: Clock;
    report: Report;
    web: Web;
    places: Places;
    nodes: Promise<readonly AskedNode[]>;
    /** Releases that the Image Factory lists. */
    releases: Releases;
    /** Checks the installer images of the releases between a machine's current and its wanted one. */
    installers: (images: string[]) => Promise<FieldFinding[]>;
    /** Sizes of installer images. */
    sizeOf: SizeOfImage;
  },
): Promise<FieldFinding[]> {
  const findings: FieldFinding[] = [];
  const bootIds: [AskedMachine, string][] = [];
  const refused = new Set<string>();
  const passed = new Set<string>();
  await someAtATime(changedMachines(machines, before), async (next) => {
    const { machine, address, schematicId } = next;
    const ask = around.machineAt(address);
    try {
      const { found, image, release, way, bootId } = await waitFor(around.clock, {
        what: `an answer of machine ${machine}`,
        limit: ANSWER,
        poll: 1_000,
        look: async () => {
          const running = await ask.schematic();
          const ours = [schematicId, ...(before[machine]?.brought ?? [])];
          const brought = running !== undefined && ours.includes(running) ? running : undefined;
          const image = await ask.image();
          const found = checkImage(next, image, running, brought, around.report);
          found.push(...(await askForSigner(next, ask, image, around)));
          const release = await ask.version();
          const way = await wayOf(next, ask, release, around.releases);
          if (way.findings.length === 0)
            for (const hop of way.hops) passed.add(installerAt(next.installerImage, hop));
          found.push(...way.findings, ...checkContract(next, release));
          found.push(...(await checkContainerd(next, ask)), ...(await checkMultipath(next, ask)));
          return { done: { found, image, release, way, bootId: await ask.bootId() } };
        },
      });
      findings.push(...found);
      findings.push(...(await askForRoom(next, image, release, way.hops, around.sizeOf)));
      bootIds.push([next, bootId]);
    } catch (error) {
      if (!(error instanceof LimitReached) && !(error instanceof CallError)) throw error;
      const foreign =
        error instanceof CallError
          ? foreignCredentials(error.message, around.talosconfig)
          : undefined;
      if (foreign === undefined)
        around.report(
          `${machine}: not known what the upgrade would remove from the machine (${lastLine(error)}); the machine's own update checks that again`,
        );
      else if (!refused.has(foreign.problem))
        findings.push({ ...foreign, field: `machines.${machine}: ${foreign.field}` });
      if (foreign !== undefined) refused.add(foreign.problem);
    }
  });
  const nodes = await around.nodes;
  for (const [next, bootId] of bootIds) {
    const old = oldName(next, bootId, nodes);
    if (old !== undefined)
      around.report(
        `warning: ${next.machine}: the machine is node ${old} now. The update renames the node to ${next.machine} and does not drain ${old}. To move its pods first, stop here and run \`kubectl drain ${old} --ignore-daemonsets --delete-emptydir-data\`. After the update, run \`kubectl delete node ${old}\``,
      );
  }
  return [
    ...findings,
    ...(passed.size > 0 ? await around.installers([...passed].sort()) : []),
    ...bootIds.flatMap(([machine, bootId]) => anotherNode(machine, bootId, nodes)),
  ];
}

/** Checks that the release that a machine runs can read the configuration that it gets before its upgrade. */
function checkContract({ machine, contract }: AskedMachine, release: string): FieldFinding[] {
  const fault = contract === undefined ? undefined : contractFinding(release, contract);
  return fault === undefined ? [] : [{ field: `machines.${machine}.versionContract`, ...fault }];
}

/** Checks an adopted configuration for settings of NVIDIA's runtime, which the next image lacks. */
async function checkContainerd(
  { machine, configuration, handler }: AskedMachine,
  ask: Machine,
): Promise<FieldFinding[]> {
  if (handler !== false || configuration !== "adopted") return [];
  const { active = "" } = await ask.configurations();
  return handlerLeftovers(active).map((fault) => ({
    field: `machines.${machine}: the machine's configuration`,
    ...fault,
  }));
}

/** Checks an adopted configuration for settings of multipathd that make the next release's service wait forever. */
async function checkMultipath(
  { machine, configuration, talosVersion, image }: AskedMachine,
  ask: Machine,
): Promise<FieldFinding[]> {
  if (configuration !== "adopted" || !refusesMultipath(talosVersion)) return [];
  const { active = "" } = await ask.configurations();
  const fault = multipathFinding(active, talosVersion, image?.extensions ?? []);
  return fault === undefined
    ? []
    : [{ field: `machines.${machine}: the machine's configuration`, ...fault }];
}

/** Machines whose fields or address changed in the stack. */
const changedMachines = (
  machines: readonly AskedMachine[],
  before: PreflightResult["machines"],
): AskedMachine[] =>
  machines.filter(({ machine, wanted, address }) => {
    const last = before[machine];
    return last?.wanted !== wanted || (last.place !== undefined && last.place.at !== address);
  });

/**
 * Warns of nodes that a failed update has left cordoned. Pulumi keeps the inputs of a program's last successful run
 * (pulumi-command, provider/pkg/provider/local/commandController.go: Update answers a failed run with a plain error).
 * So if the user reverts the stack, Pulumi finds nothing to do for the machine, and does not run the upgrade program.
 * The preflight succeeded in the failed update, so it runs again.
 */
export async function warnOfCordons(
  machines: readonly AskedMachine[],
  before: PreflightResult["machines"],
  cluster: Pick<Cluster, "node">,
  report: Report,
): Promise<void> {
  const changed = changedMachines(machines, before).filter(
    ({ machine }) => before[machine] !== undefined,
  );
  await someAtATime(changed, async ({ machine }) => {
    try {
      if (!isCordonedByUs(await cluster.node(machine))) return;
      report(
        `warning: ${machine}: an earlier update failed: node ${machine} is still cordoned, and the machine may be half upgraded. ` +
          "If you reversed that update's edit, also change `reconcileToken`; otherwise Pulumi neither upgrades nor uncordons the machine.",
      );
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      report(
        `${machine}: not known whether a failed update left its node cordoned (${lastLine(error)})`,
      );
    }
  });
}
