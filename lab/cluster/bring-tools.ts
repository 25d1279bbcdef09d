import { externalOf } from "../../components/recipe/external/external";
import { programOnPath } from "../on-path";
import type { Say } from "../phases";
import { problemsWithRealNode } from "../real-node/able";
import { provideNodePrograms, provideTools, type ToolName, toolNames } from "../tools";
import { narrateTools, type OnToolEvent } from "../tools/events";
import { describeInstalled, type InstalledTool } from "../tools/installed";
import type { Lab } from "./lab";
import { releaseNote, provideRealImages } from "./real-images";

/**
 * Provides the programs that the lab's stacks need.
 *
 * @returns a line with the tools that were built or downloaded.
 * @throws Error if this computer cannot run what the options ask for.
 */
export async function bringTools(lab: Lab, say: Say): Promise<string> {
  const narrate = narrateTools(say);
  const counts = { built: 0, downloaded: 0 };
  const onEvent: OnToolEvent = (event) => {
    if (event.state === "built" || event.state === "downloaded") counts[event.state]++;
    narrate(event);
  };
  const { signal } = lab.session;
  const real = lab.options.machines === "node";
  const reasons = real ? problemsWithRealNode() : [];
  if (reasons.length > 0)
    throw new Error(
      `--machines: no real node on this computer: ${reasons.join("; ")}; omit --machines node to use emulated nodes`,
    );
  const only = toolNames.filter((name) => needsTool(lab, name));
  const onInstalled = (installed: InstalledTool[]): void => say(describeInstalled(installed));
  // A real control plane's images contain one program for all components; the published programs are separate.
  const fromSource = lab.options.machines === "real" ? (["controlplane"] as const) : [];
  lab.tools = await provideTools({ signal, onEvent, only, fromSource, onInstalled });
  // The installed Pulumi has its language host for Node in the same folder.
  if (lab.options.pulumi !== "lab") lab.tools.pulumi = programOnPath("pulumi") ?? lab.tools.pulumi;
  if (lab.options.machines === "real") {
    lab.talos = await provideRealImages(lab, onEvent);
    lab.tools.talosctl = lab.talos.talosctl ?? lab.tools.talosctl;
  }
  if (lab.options.machines !== "emulated" && lab.options.card === undefined)
    lab.nodePrograms = await provideNodePrograms({ signal, onEvent });
  const builders = Object.entries(counts).flatMap(([builder, count]) =>
    count === 0 ? [] : `${count} ${builder}`,
  );
  return `${builders.join(", ") || "all there"}${lab.talos === undefined ? "" : releaseNote(lab.talos, lab.options.stack)}`;
}

/**
 * Whether the lab runs a tool for the stack or for a later version of it: the controller of LeaderWorkerSets if a stack
 * has one, and Helm if a stack has `external`, whose release the lab installs in its owner's place.
 */
function needsTool({ spec, laterSpecs = [] }: Lab, name: ToolName): boolean {
  const specs = [spec, ...laterSpecs];
  if (name === "lws") return specs.some(({ leaderWorkerSet }) => leaderWorkerSet !== undefined);
  if (name === "helm") return specs.some((cluster) => externalOf(cluster) !== undefined);
  return true;
}
