import type { Resource } from "./policies/policy";

/**
 * Resources without their unknown values. @pulumi/policy throws if a policy reads a value that a preview does not know
 * yet (proxy.js, UnknownValueError). The whole policy would then not run, so one unknown value would hide violations of
 * all other resources. So this function removes each unknown value from its resource and records its path, and the
 * policies check the known values.
 *
 * @param resources resources of `validateStack`; their parents and dependencies are in the same list.
 */
export function knownPart(resources: readonly Resource[]): Resource[] {
  const knownResources = resources.map((resource) => {
    const unknown: string[][] = [];
    return {
      ...resource,
      props: copy(resource.props, [], unknown) as Record<string, any>,
      unknown,
    };
  });
  const byUrn = new Map<string, Resource>(
    knownResources.map((resource) => [resource.urn, resource]),
  );
  return knownResources.map((resource) => {
    const parent = resource.parent && byUrn.get(resource.parent.urn);
    const dependencies = resource.dependencies.flatMap(({ urn }) => byUrn.get(urn) ?? []);
    return Object.assign(resource, { dependencies }, parent && { parent });
  });
}

/** A value without its unknown parts, whose paths are recorded. */
function copy(value: unknown, path: string[], unknown: string[][]): unknown {
  if (typeof value !== "object" || value === null) return value;
  const parts = Object.keys(value).flatMap((key): [string, unknown][] => {
    const keyPath = [...path, key];
    try {
      return [[key, copy((value as Record<string, unknown>)[key], keyPath, unknown)]];
    } catch (error) {
      if ((error as Error).constructor.name !== "UnknownValueError") throw error;
      unknown.push(keyPath);
      return [];
    }
  });
  return Array.isArray(value) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
}
