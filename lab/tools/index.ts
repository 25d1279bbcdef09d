import { catalogue, languageTool, nodeCatalogue, promtool, talosCatalogue } from "./catalogue";
import { installedTools, type InstalledTool } from "./installed";
import { provide, type ProvideOptions } from "./provide";

export type { ToolEvent } from "./events";

/** Absolute paths of the programs that the lab runs; `controlplane` is etcd and all of Kubernetes' in one, see `startControlPlane`. */
export type Tools = Record<ToolName, string>;
/** A program that the lab runs. */
export type ToolName =
  | "pulumi"
  | "pulumi-resource-kubernetes"
  | "talosctl"
  | "helm"
  | "controlplane"
  | "machines"
  | "lws";

/** All of them. */
export const toolNames = catalogue.map(({ name }) => name) as ToolName[];

/** Who hears what happens to each tool, and what stops a build; what Go has finished stays in its cache. */
type Options = Pick<ProvideOptions, "onEvent" | "signal">;

/**
 * Provides the programs that the lab runs, or only some: those on PATH that are new enough, the others from the cache folder of the
 * user. What the cache lacks is put into it once: downloaded where its project publishes it and the network allows, else built with the
 * user's Go. Built, all of them take some minutes. Builds run one after the other: each uses every core.
 *
 * @param fromSource names those that must be the lab's own builds.
 * @param onInstalled is called with what comes from PATH, if anything does.
 * @throws Error with what to do.
 */
export async function provideTools<Name extends ToolName = ToolName>({
  only,
  fromSource = [],
  onInstalled,
  ...options
}: Options & {
  only?: readonly Name[];
  fromSource?: readonly Name[];
  onInstalled?: (found: InstalledTool[]) => void;
} = {}): Promise<Pick<Tools, Name>> {
  const wanted = catalogue
    .filter(({ name }) => only === undefined || only.some((each) => each === name))
    .map(({ release, ...tool }) =>
      release && !fromSource.some((each) => each === tool.name) ? { ...tool, release } : tool,
    );
  const found = await installedTools(wanted.map(({ name }) => name));
  if (found.length > 0) onInstalled?.(found);
  const fromPath = Object.fromEntries(found.map(({ tool, path }) => [tool, path]));
  const others = wanted.filter(({ name }) => fromPath[name] === undefined);
  return { ...fromPath, ...(await provide(others, options)) } as Pick<Tools, Name>;
}

/** Provides the programs of a real node; gives the folders that hold them. */
export async function provideNodePrograms(options: Options = {}): Promise<string[]> {
  return Object.values(await provide(nodeCatalogue, options));
}

/** Folders of the programs of a machine that runs real Talos. */
export type TalosPrograms = Record<
  "talos" | "talos-programs" | "image-factory" | "containerd" | "cni" | "kubelet",
  string
> & {
  /** The version's own client, if the lab's talosctl does not know its documents. */
  talosctl?: string;
};

/** Provides the programs of a machine that runs real Talos of a release. */
export async function provideTalosPrograms(
  release: string,
  options: Options = {},
): Promise<TalosPrograms> {
  return (await provide(talosCatalogue(release), options)) as TalosPrograms;
}

/** Provides Pulumi's YAML host (`pulumi-language-yaml`) and the generators of SDKs (`generate-sdk`); gives their folder. */
export async function provideLanguages(options: Options = {}): Promise<string> {
  return (await provide([languageTool], options))["languages"]!;
}

/** Provides what tries Prometheus' rules; it takes the files of `promtool test rules`. */
export const providePromtool = async (options: Options = {}): Promise<string> =>
  (await provide([promtool], options))["promtool"]!;
