import type { Resource } from "../../policy/policies/policy";
import type { Run } from "../support/recorder";

/**
 * The resources of a run in the form that policies get: references instead of URNs, and plain values instead of
 * secrets.
 */
export function asResources(run: Run): Resource[] {
  const resources = run.resources.map(({ urn, name, type, inputs }) => ({
    urn,
    name,
    type,
    props: withoutSecrets(inputs) as Record<string, any>,
    dependencies: [] as Resource[],
  }));
  const byUrn = new Map<string, Resource>(resources.map((resource) => [resource.urn, resource]));
  return resources.map((resource, index) => {
    const { parent, dependencies } = run.resources[index]!;
    const parentResource = byUrn.get(parent);
    if (parentResource) Object.assign(resource, { parent: parentResource });
    resource.dependencies.push(...dependencies.flatMap((urn) => byUrn.get(urn) ?? []));
    return resource;
  });
}

function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets);
  if (typeof value !== "object" || value === null) return value;
  if ("4dabf18193072939515e22adb298388d" in value)
    return withoutSecrets((value as { value?: unknown }).value);
  return Object.fromEntries(
    Object.entries(value).map(([key, child]) => [key, withoutSecrets(child)]),
  );
}
