import type { ObjectKey } from "../../clients/kubernetes/api";

/**
 * Annotation of every object that a stack creates. Its value names the stack and the resource that own the object
 * (`ownerText`).
 */
export const OWNER = "talos-gpu/owner";

/** An object in the cluster. */
export interface LiveObject extends ObjectKey {
  uid: string;
  /** Value of the object's owner annotation. */
  owner: string | undefined;
  /** Words for the data that a deletion of the object would delete: a namespace's content, or a claim's volume. */
  holds: string[];
  /** Further properties of the object, which some callers need. */
  object?: {
    handler?: string;
    status?: { conditions?: { type: string; status: string }[] };
    metadata?: {
      annotations?: Record<string, string>;
      ownerReferences?: { kind: string }[];
      managedFields?: { manager?: string }[];
    };
  };
}

/** Helm's record of one revision of a release: a Secret. */
export interface ReleaseRecord {
  /** Name of the Secret. */
  name: string;
  uid: string;
  revision: number;
  /** Helm's status, e.g. `deployed` or `pending-upgrade`. */
  status: string;
  /** Name of the chart; empty if the record cannot be read. */
  chart: string;
  /** The user's values. */
  values: unknown;
}

/** The guard's calls to a cluster. Every call has a time limit. */
export interface ClusterObjects {
  /** The object; undefined if the object, its namespace or its kind does not exist. */
  read(key: ObjectKey): Promise<LiveObject | undefined>;
  /** Value of an object's owner annotation. Unlike `read`, it does not look for the object's data. */
  ownerOf(key: ObjectKey): Promise<string | undefined>;
  /** Objects of a kind with this owner, in one namespace or in all. Empty if the credentials may not list them. */
  ownedBy(
    owner: string,
    kind: Pick<ObjectKey, "apiVersion" | "kind">,
    namespace?: string,
  ): Promise<LiveObject[]>;
  /** Helm's records of a release, the oldest first. */
  records(namespace: string, release: string): Promise<ReleaseRecord[]>;
  /** Deletes this object (by UID) with its dependents, and waits until it is gone. */
  remove(object: LiveObject): Promise<void>;
  forget(namespace: string, record: ReleaseRecord): Promise<void>;
}

/**
 * Value of the owner annotation: project and stack, resource, and the ID of the Kubernetes provider. Pulumi generates
 * this ID once and keeps it in the stack's state. So a stack with the same name and another state counts as another
 * owner.
 */
export const ownerText = (stack: string, resource: string, provider: string): string =>
  `${stack}/${resource} ${provider}`;

/** Whether two owners are the same stack with the same state. */
export function sameStack(owner: string, otherOwner: string): boolean {
  const stackOf = (owner: string): string => owner.replace(/^(\S+)\/[^\s/]+ /, "$1 ");
  return stackOf(owner) === stackOf(otherOwner);
}

/**
 * Stack name of the first owner, if the owners are different stacks of one project; else undefined. `pulumi stack
 * rename` changes the stack's name in its state only, so the objects in the cluster still name the former stack.
 */
export function otherStack(ownerMark: string, otherMark: string): string | undefined {
  const [[project, stack], [sameProject, otherStackName]] = [
    ownerMark.split("/"),
    otherMark.split("/"),
  ];
  return project === sameProject && stack !== otherStackName ? stack : undefined;
}
