import { catalogue, languageTool, nodeCatalogue, talosCatalogue } from "./catalogue";
import type { ToolName } from "./definition";
import { provide, type ProvideOptions } from "./provide";

export type { ToolName } from "./definition";
export type { ToolEvent } from "./events";

/** Absolute paths of the programs that the lab runs. */
export interface Tools {
  /** Pulumi's CLI and engine, 3.259. */
  pulumi: string;
  /** talosctl 1.13. */
  talosctl: string;
  /** Helm 3. */
  helm: string;
  /** etcd and the Kubernetes control plane in one binary, see `startControlPlane`. */
  controlplane: string;
  /** Pulumi's provider for Kubernetes. */
  "pulumi-resource-kubernetes": string;
  /** The emulated Talos machines. */
  machines: string;
}

/** Who is told what happens to each tool, and what stops a build; what Go has finished stays in its cache. */
type Options = Pick<ProvideOptions, "onEvent" | "signal">;

/** Which of the tools, and who is told of them. */
export interface ProvideToolsOptions<Name extends ToolName = ToolName> extends Options {
  /** Only these. Default: all. */
  only?: readonly Name[];
}

/**
 * Provides the programs that the lab runs, from the cache folder of the user. What it lacks is built into it once, with the user's
 * Go. Cold, all of them take some minutes.
 *
 * Builds run one after the other: each uses every core.
 *
 * @throws when one cannot be provided; the message says what to do.
 */
export async function provideTools<Name extends ToolName = ToolName>(
  options: ProvideToolsOptions<Name> = {},
): Promise<Pick<Tools, Name>> {
  const { only, ...rest } = options;
  const wanted = catalogue.filter(({ name }) => only === undefined || only.some((each) => each === name));
  return provide(wanted, rest) as Promise<Pick<Tools, Name>>;
}

/**
 * Provides the programs of a real node, as {@link provideTools} does the lab's.
 *
 * @returns the folders that hold them.
 */
export async function provideNodePrograms(options: Options = {}): Promise<string[]> {
  return Object.values(await provide(nodeCatalogue, options));
}

/** Folders of the programs of a machine that runs real Talos. */
export type TalosPrograms = Record<"talos" | "talos-programs" | "containerd" | "cni" | "kubelet", string>;

/**
 * Provides the programs of a machine that runs real Talos of a release, as {@link provideTools} does the lab's.
 */
export async function provideTalosPrograms(release: string, options: Options = {}): Promise<TalosPrograms> {
  return (await provide(talosCatalogue(release), options)) as TalosPrograms;
}

/**
 * Provides Pulumi's YAML host (`pulumi-language-yaml`) and the generators of SDKs (`generate-sdk`), as {@link provideTools} does the
 * lab's programs.
 *
 * @returns the folder that holds them.
 */
export async function provideLanguages(options: Options = {}): Promise<string> {
  const { languages } = await provide([languageTool], options);
  return languages!;
}
