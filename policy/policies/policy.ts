/** A resource as a policy sees it: what is looked at of `PolicyResource` (@pulumi/policy). */
export interface Resource {
  urn: string;
  name: string;
  type: string;
  /** Its inputs, without what a preview does not know yet. */
  props: Record<string, any>;
  /** Paths of the inputs that are not known yet. Default: all are known. */
  unknown?: readonly (readonly string[])[];
  parent?: Resource;
  /** Resources that it waits for, or that its inputs come from. */
  dependencies: readonly Resource[];
}

/** Values of the pack's configuration. */
export interface Settings {
  /** Namespaces whose pods may be privileged, in addition to those that the stack itself labels so. */
  privilegedNamespaces: readonly string[];
}

/** A resource that breaks a policy. */
export interface Violation {
  resource: Resource;
  /** Finding as a text: problem; reason; remedy. */
  message: string;
}

/** One policy of the pack. Pure: it looks at a stack's resources, and at nothing else. */
export interface Policy {
  name: string;
  description: string;
  find(resources: readonly Resource[], settings: Settings): Violation[];
}

/**
 * Whether a resource waits for a second one, directly or through others. It also waits for everything that its
 * parents wait for.
 */
export function waitsFor(resource: Resource, other: Resource): boolean {
  const seen = new Set<string>();
  const pending: Resource[] = [
    ...resource.dependencies,
    ...(resource.parent ? [resource.parent] : []),
  ];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.urn === other.urn) return true;
    if (seen.has(next.urn)) continue;
    seen.add(next.urn);
    pending.push(...next.dependencies, ...(next.parent ? [next.parent] : []));
  }
  return false;
}

/**
 * Whether a path may have a value that is not known yet: then nothing follows from its absence.
 *
 * @param path steps from the inputs on; `*` is any.
 */
export function mayHave({ unknown = [] }: Resource, ...path: string[]): boolean {
  const meet = (at: readonly string[]): boolean =>
    at.every((step, index) => [undefined, "*", step].includes(path[index]));
  return unknown.some(meet);
}
