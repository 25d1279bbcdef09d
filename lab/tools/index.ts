import { catalogue, languageTool, nodeCatalogue, promtool, talosCatalogue } from "./catalogue";
import { installedTools, type InstalledTool } from "./installed";
import { provide, type ProvideOptions } from "./provide";

export type { ToolEvent } from "./events";

/**
 * Absolute paths of the programs that the lab runs. `controlplane` is one program with etcd and all components of
 * Kubernetes, see `startControlPlane`.
 */
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

/** Names of all programs that the lab runs. */
export const toolNames = catalogue.map(({ name }) => name) as ToolName[];

/**
 * Receiver of the tools' events, and a signal that stops a build. Go's cache keeps the packages that are compiled by
 * then.
 */
type Options = Pick<ProvideOptions, "onEvent" | "signal">;

/**
 * Provides all or some programs that the lab runs: from PATH if they are new enough, else from the user's cache
 * folder. A missing program is added to the cache once. It is downloaded if its project publishes it and the network
 * allows the download, else built with the user's Go. A build of all takes some minutes. Builds run one after the
 * other, since each uses every core.
 *
 * @param fromSource names of programs that must be the lab's own builds
 * @param onInstalled receives the programs from PATH, if there are any
 * @throws Error with a remedy
 */
export async function provideTools<Name extends ToolName = ToolName>({
  only,
  fromSource = [],
  onInstalled,
  ...options
}: Options & {
  only?: readonly Name[];
  fromSource?: readonly Name[];
  onInstalled?: (tools: InstalledTool[]) => void;
} = {}): Promise<Pick<Tools, Name>> {
  const definitions = catalogue
    .filter(({ name }) => only === undefined || only.some((wantedName) => wantedName === name))
    .map(({ release, ...tool }) =>
      release && !fromSource.some((builtName) => builtName === tool.name)
        ? { ...tool, release }
        : tool,
    );
  const installed = await installedTools(definitions.map(({ name }) => name));
  if (installed.length > 0) onInstalled?.(installed);
  const fromPath = Object.fromEntries(installed.map(({ tool, path }) => [tool, path]));
  const remaining = definitions.filter(({ name }) => fromPath[name] === undefined);
  return { ...fromPath, ...(await provide(remaining, options)) } as Pick<Tools, Name>;
}

/** Provides the programs of a real node, and gives their folders. */
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

/**
 * Provides Pulumi's YAML host (`pulumi-language-yaml`) and the generators of SDKs (`generate-sdk`), and gives their
 * folder.
 */
export async function provideLanguages(options: Options = {}): Promise<string> {
  return (await provide([languageTool], options))["languages"]!;
}

/** Provides the program that tests Prometheus' rules. It accepts the files of `promtool test rules`. */
export const providePromtool = async (options: Options = {}): Promise<string> =>
  (await provide([promtool], options))["promtool"]!;
