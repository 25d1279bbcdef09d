import * as semver from "semver";
import type { ClusterSpec } from "../../components/recipe";
import { firstInstalling } from "../../components/recipe/checks/updates";
import { upgradePath } from "../../components/recipe/effect/hops";
import { clusterOf, readStackFile } from "../../stacks/stack-file";
import type { LabOptions } from "../options";
import type { Session } from "../session/session";
import { provideTalos, releases, whyNoMachine, type TalosImages } from "../talos";
import { publishedDisk } from "../talos/published";
import type { OnToolEvent } from "../tools/events";
import { plainSchematic } from "./initial-image";

/** First images of machines, and the Factory of their later images; undefined if that is the public one. */
export type RealImages = Pick<TalosImages, "release" | "disk" | "programs"> &
  Partial<Pick<TalosImages, "factory" | "talosctl">>;

/** Facts that decide which images are made. */
export interface RealStack {
  options: Pick<LabOptions, "card">;
  session: Session;
  spec: ClusterSpec;
  /** Talos releases of the stack and of its machines, and of what it becomes. */
  talosReleases: readonly string[];
}

/** Provides images of the stack's release for real machines. Their Factory also has the machines' later releases. */
export async function provideRealImages(
  { options, spec, session, talosReleases }: RealStack,
  onEvent: OnToolEvent,
): Promise<RealImages> {
  const refuse = (reason: string): never => {
    throw new Error(`--machines real: ${reason}; leave --machines real out for emulated machines`);
  };
  const machines = Object.values(spec.machines);
  const controlPlanes = machines.filter(({ role }) => role === "controlplane").length;
  if (controlPlanes > 1) refuse("a lab starts only one control plane, and this stack has several");
  if (machines.length > 1 && controlPlanes === 0)
    refuse("a stack of several machines needs a control plane among them");
  if (machines.some(({ configuration }) => configuration === "omni"))
    refuse("the lab's Omni cannot manage virtual machines");
  if (spec.bootstrap === true && semver.minor(spec.talosVersion) < firstInstalling)
    refuse(
      `the Talos provider cannot install machines that boot from a medium older than Talos 1.${firstInstalling}, as these would`,
    );
  if (options.card !== undefined && (machines.length > 1 || controlPlanes === 0))
    refuse("--card needs a stack of one machine, which is also the control plane");
  // Checks the stack first: a missing part of this computer matters only to a stack that may run here.
  const reasons = whyNoMachine(options.card !== undefined);
  if (reasons.length > 0) refuse(`not on this computer: ${reasons.join("; ")}`);
  if (options.card !== undefined) {
    const release = spec.talosVersion;
    return {
      release,
      disk: await publishedDisk(release, plainSchematic, session.signal),
      programs: "",
    };
  }
  const provide = (release: string): Promise<TalosImages> =>
    provideTalos(release, { signal: session.signal, onEvent });
  const stackImages = await provide(spec.talosVersion);
  const further: TalosImages[] = [];
  for (const release of talosReleases)
    if (release !== stackImages.release) further.push(await provide(release));
  return { ...stackImages, factory: (work, signal) => stackImages.factory(work, signal, further) };
}

/** A remark if the machines do not run the release of their stack. */
export function releaseNote({ release }: RealImages, stack: string): string {
  const { talosVersion: stackVersion } = clusterOf(readStackFile(stack));
  return stackVersion === release
    ? ""
    : `; the machines run ${release}, the release nearest to ${stackVersion} that the lab builds`;
}

/**
 * Adds the intermediate releases of an upgrade over several minors. The lab's Factory lists only releases that are
 * built here, so the program uses the last of these.
 */
export const withHops = (stackReleases: readonly string[]): string[] =>
  stackReleases.flatMap((release, index) => {
    const previous = stackReleases[index - 1] ?? release;
    const hops = semver.lt(previous, release)
      ? upgradePath(previous, release, { listed: releases }).intermediateReleases
      : [];
    return [...hops, release];
  });

/** The installer that a machine begins with. */
export const plainInstaller = (release: string): string =>
  `factory.talos.dev/metal-installer/${plainSchematic}:${release}`;
