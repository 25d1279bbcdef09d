import { defined } from "../mapping";
import type { ReleaseFactsSpec } from "../spec/index";

/** The Image Factory of a stack that names none: Sidero Labs' own. */
export const defaultFactoryUrl = "https://factory.talos.dev";

/**
 * URL of the Image Factory to ask for a stack. TALOS_GPU_FACTORY, if it is set, replaces every Factory, e.g. by a
 * mirror or the lab's.
 *
 * @param url of the Factory that the stack means.
 * @returns a URL without a slash at its end.
 */
export const factoryAt = (url: string, { TALOS_GPU_FACTORY: other }: NodeJS.ProcessEnv): string =>
  (other || url).replace(/(?<!\/)\/+$/, "");

/**
 * Reads what the Image Factory lists of a release (`GET /version/<release>/extensions/official`): the tag of a
 * reference tells the versions, `<driver>-<toolkit>` of the toolkit's extension and `<driver>-<release>` of the
 * modules'. Parts that are missing there stay out. Source: siderolabs/image-factory, docs/api.md;
 * siderolabs/extensions, nvidia-gpu, VERSION of each.
 *
 * @throws Error when the answer is no such list.
 */
export function readExtensions(answer: unknown): Omit<ReleaseFactsSpec, "talosVersion"> {
  if (!Array.isArray(answer) || answer.length === 0)
    throw new Error("it answers something else than a list of extensions");
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
