import type { Resource } from "./policies/policy";

/**
 * Resources as far as they are known. @pulumi/policy throws if a policy reads a value that a preview does not know yet (proxy.js,
 * UnknownValueError). The whole policy then becomes a remark, so one unknown value would let every other resource pass. Here an unknown is left out of its resource and its path noted, and the policies judge what is known.
 *
 * @param given of `validateStack`; parents and dependencies are of the same list.
 */
export function knownPart(given: readonly Resource[]): Resource[] {
  const known = given.map((resource) => {
    const unknown: string[][] = [];
    return {
      ...resource,
      props: copy(resource.props, [], unknown) as Record<string, any>,
      unknown,
    };
  });
  const byUrn = new Map<string, Resource>(known.map((resource) => [resource.urn, resource]));
  return known.map((resource) => {
    const parent = resource.parent && byUrn.get(resource.parent.urn);
    const dependencies = resource.dependencies.flatMap(({ urn }) => byUrn.get(urn) ?? []);
    return Object.assign(resource, { dependencies }, parent && { parent });
  });
}

/** What is known of a value; notes the paths of what is not. */
function copy(value: unknown, path: string[], unknown: string[][]): unknown {
  if (typeof value !== "object" || value === null) return value;
  const parts = Object.keys(value).flatMap((key): [string, unknown][] => {
    const below = [...path, key];
    try {
      return [[key, copy((value as Record<string, unknown>)[key], below, unknown)]];
    } catch (error) {
      if ((error as Error).constructor.name !== "UnknownValueError") throw error;
      unknown.push(below);
      return [];
    }
  });
  return Array.isArray(value) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
}
