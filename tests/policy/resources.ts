import type { Resource } from "../../policy/policies/policy";
import type { Run } from "../support/recorder";

/**
 * The resources of a run in the form that policies get: references instead of URNs, and plain values instead of
 * secrets.
 */
export function asResources(run: Run): Resource[] {
  const made = run.resources.map(({ urn, name, type, inputs }) => ({
    urn,
    name,
    type,
    props: plain(inputs) as Record<string, any>,
    dependencies: [] as Resource[],
  }));
  const byUrn = new Map<string, Resource>(made.map((resource) => [resource.urn, resource]));
  return made.map((resource, index) => {
    const { parent, dependencies } = run.resources[index]!;
    const above = byUrn.get(parent);
    if (above) Object.assign(resource, { parent: above });
    resource.dependencies.push(...dependencies.flatMap((urn) => byUrn.get(urn) ?? []));
    return resource;
  });
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  if ("4dabf18193072939515e22adb298388d" in value)
    return plain((value as { value?: unknown }).value);
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, plain(child)]));
}
