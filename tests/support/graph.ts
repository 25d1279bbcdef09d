import type { RegisteredResource, Run } from "./recorder";

/** The only resource of a type whose name has this end. The test fails if there is none, or more than one. */
export function findResource(run: Run, type: string, nameEnd = ""): RegisteredResource {
  const matching = findResources(run, type).filter((resource) => resource.name.endsWith(nameEnd));
  if (matching.length !== 1) {
    const registered = run.resources
      .map((resource) => `${resource.type} ${resource.name}`)
      .join("\n");
    throw new Error(
      `${matching.length} resources of type ${type} end in "${nameEnd}":\n${registered}`,
    );
  }
  return matching[0]!;
}

/** All resources of a type, in the order of registration. */
export function findResources(run: Run, type: string): RegisteredResource[] {
  return run.resources.filter((resource) => resource.type === type);
}

/**
 * URNs of the resources for which a resource waits, directly or through others. A resource also waits until its
 * parent is registered, and so for everything that the parent waits for.
 *
 * @param ignored resources that are removed from the graph first: the result then has only what is reachable
 * without them
 */
export function dependencyUrns(
  run: Run,
  resource: RegisteredResource,
  ignored: RegisteredResource[] = [],
): Set<string> {
  const byUrn = new Map(run.resources.map((node) => [node.urn, node]));
  const removed = new Set(ignored.map(({ urn }) => urn));
  const reached = new Set<string>();
  const neighbours = (node: RegisteredResource): string[] => [...node.dependencies, node.parent];
  const pending = neighbours(resource);
  while (pending.length > 0) {
    const urn = pending.pop()!;
    if (urn === "" || reached.has(urn) || removed.has(urn)) continue;
    reached.add(urn);
    const next = byUrn.get(urn);
    if (next) pending.push(...neighbours(next));
  }
  return reached;
}

/**
 * Whether a value is in Pulumi's envelope of a secret (pulumi, sdk/nodejs/runtime/rpc.ts: specialSigKey,
 * specialSecretSig).
 */
export const isSecret = (value: any): boolean =>
  value?.["4dabf18193072939515e22adb298388d"] === "1b47061264138c4ac30d75fd1eb44270";

/** Fails unless `dependent` waits for `dependency`, directly or through others. */
export function expectDependsOn(
  run: Run,
  dependent: RegisteredResource,
  dependency: RegisteredResource,
): void {
  expect([dependent.name, [...dependencyUrns(run, dependent)]]).toEqual([
    dependent.name,
    expect.arrayContaining([dependency.urn]),
  ]);
}
