/** The Image Factory of a stack that names none: Sidero Labs' own. */
export const defaultFactoryUrl = "https://factory.talos.dev";

/**
 * Where a stack's Image Factory is asked: TALOS_GPU_FACTORY stands for every one where it is set, as a mirror or the lab's.
 *
 * @param url of the Factory that the stack means.
 * @returns a URL without a slash at its end.
 */
export const factoryAt = (url: string, { TALOS_GPU_FACTORY: other }: NodeJS.ProcessEnv): string =>
  (other || url).replace(/\/+$/, "");
