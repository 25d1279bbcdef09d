import { defined } from "../mapping";
import type { ReleaseFactsSpec } from "../spec/index";

/** URL of the default Image Factory, which Sidero Labs runs. */
export const defaultFactoryUrl = "https://factory.talos.dev";

/**
 * URL of the Image Factory for a stack. If the environment variable TALOS_GPU_FACTORY is set, its URL replaces the URL
 * of the stack, e.g. to use a mirror or the lab's Factory.
 *
 * @param url URL of the Factory that the stack names.
 * @returns a URL without a slash at its end.
 */
export const factoryAt = (
  url: string,
  { TALOS_GPU_FACTORY: overrideUrl }: NodeJS.ProcessEnv,
): string => (overrideUrl || url).replace(/(?<!\/)\/+$/, "");

/**
 * Reads the facts about a release from the Image Factory's list of extensions (`GET
 * /version/<release>/extensions/official`). The tags contain the versions: `<driver>-<toolkit>` for the toolkit's
 * extension, `<driver>-<release>` for the modules. The function leaves out facts that the list lacks. Source:
 * siderolabs/image-factory, docs/api.md; siderolabs/extensions, nvidia-gpu, the file VERSION of each extension.
 *
 * @throws Error if the answer is not such a list.
 */
export function readExtensions(answer: unknown): Omit<ReleaseFactsSpec, "talosVersion"> {
  if (!Array.isArray(answer) || answer.length === 0)
    throw new Error("its answer is not a list of extensions");
  const tags = new Map<string, string>();
  for (const item of answer as { name?: unknown; ref?: unknown }[]) {
    if (typeof item?.name !== "string" || typeof item.ref !== "string") continue;
    tags.set(item.name, item.ref.replace(/@sha256:.*$/, "").replace(/^.*:/, ""));
  }
  const toolkit = (branch: string): { driver?: string; toolkit?: string } => {
    const tag = tags.get(`siderolabs/nvidia-container-toolkit-${branch}`) ?? "";
    const [, driver, version] = /^(\d+\.\d+(?:\.\d+)?)(?:-v?(\d+\.\d+\.\d+))?/.exec(tag) ?? [];
    return defined({ driver, toolkit: version });
  };
  const [lts, production, newFeature] = [
    toolkit("lts"),
    toolkit("production"),
    toolkit("new-feature"),
  ];
  const version = production.toolkit ?? lts.toolkit;
  return {
    ...defined({
      lts: lts.driver,
      production: production.driver,
      newFeature: newFeature.driver,
      toolkit: version,
    }),
    extensions: [...tags.keys()].sort(),
  };
}
