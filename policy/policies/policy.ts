/** A resource with the fields of `PolicyResource` (@pulumi/policy) that the policies use. */
export interface Resource {
  urn: string;
  name: string;
  type: string;
  /** Known inputs of the resource. */
  props: Record<string, any>;
  /** Paths of inputs that are not known yet. Default: none. */
  unknown?: readonly (readonly string[])[];
  parent?: Resource;
  /** Resources that it waits for, or from which its inputs come. */
  dependencies: readonly Resource[];
}

/** Values of the pack's configuration. */
export interface Settings {
  /** Namespaces whose pods may be privileged, in addition to those that the stack labels for this. */
  privilegedNamespaces: readonly string[];
}

/** A violation of a policy by a resource. */
export interface Violation {
  resource: Resource;
  /** Text of the violation: problem; reason; remedy. */
  message: string;
}

/** One policy of the pack. Pure: it depends only on a stack's resources. */
export interface Policy {
  name: string;
  description: string;
  find(resources: readonly Resource[], settings: Settings): Violation[];
}

/**
 * Whether a resource waits for a second resource, directly or through further ones. A resource also waits for
 * everything that its parents wait for.
 */
export function waitsFor(resource: Resource, target: Resource): boolean {
  const visited = new Set<string>();
  const pending: Resource[] = [
    ...resource.dependencies,
    ...(resource.parent ? [resource.parent] : []),
  ];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (next.urn === target.urn) return true;
    if (visited.has(next.urn)) continue;
    visited.add(next.urn);
    pending.push(...next.dependencies, ...(next.parent ? [next.parent] : []));
  }
  return false;
}

/**
 * Whether the value at a path may still be unknown, so that its absence has no meaning.
 *
 * @param path steps from the inputs on; `*` stands for any step.
 */
export function mayHave({ unknown = [] }: Resource, ...path: string[]): boolean {
  const meet = (unknownPath: readonly string[]): boolean =>
    unknownPath.every((step, index) => [undefined, "*", step].includes(path[index]));
  return unknown.some(meet);
}
