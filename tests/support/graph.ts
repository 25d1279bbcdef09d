import type { Registered, Run } from "./recorder";

/** The only resource of a type whose name has this end. The test fails if there is none, or more than one. */
export function find(run: Run, type: string, nameEnd = ""): Registered {
  const found = findAll(run, type).filter((resource) => resource.name.endsWith(nameEnd));
  if (found.length !== 1) {
    const there = run.resources.map((resource) => `${resource.type} ${resource.name}`).join("\n");
    throw new Error(`${found.length} resources of type ${type} end in "${nameEnd}":\n${there}`);
  }
  return found[0]!;
}

/** All resources of a type, in the order of registration. */
export function findAll(run: Run, type: string): Registered[] {
  return run.resources.filter((resource) => resource.type === type);
}

/**
 * URNs of the resources for which a resource waits, directly or through others. A resource also waits until its
 * parent is registered, and so for everything that the parent waits for.
 *
 * @param without resources that are removed from the graph first: the result then has only what is reachable
 * without them
 */
export function waitsFor(run: Run, resource: Registered, without: Registered[] = []): Set<string> {
  const byUrn = new Map(run.resources.map((each) => [each.urn, each]));
  const removed = new Set(without.map((each) => each.urn));
  const seen = new Set<string>();
  const neighbours = (each: Registered): string[] => [...each.dependencies, each.parent];
  const pending = neighbours(resource);
  while (pending.length > 0) {
    const urn = pending.pop()!;
    if (urn === "" || seen.has(urn) || removed.has(urn)) continue;
    seen.add(urn);
    const next = byUrn.get(urn);
    if (next) pending.push(...neighbours(next));
  }
  return seen;
}

/**
 * Whether a value is in Pulumi's envelope of a secret (pulumi, sdk/nodejs/runtime/rpc.ts: specialSigKey,
 * specialSecretSig).
 */
export const isSecret = (value: any): boolean =>
  value?.["4dabf18193072939515e22adb298388d"] === "1b47061264138c4ac30d75fd1eb44270";

/** Fails unless `later` waits for `earlier`. */
export function expectWait(run: Run, later: Registered, earlier: Registered): void {
  expect([later.name, [...waitsFor(run, later)]]).toEqual([
    later.name,
    expect.arrayContaining([earlier.urn]),
  ]);
}
