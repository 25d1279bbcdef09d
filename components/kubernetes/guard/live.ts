import type { ObjectKey } from "../../clients/kubernetes/api";

/** Annotation of every object that a stack makes: which stack and resource own it, as `ownerText` writes it. */
export const OWNER = "talos-gpu/owner";

/** An object as it is in the cluster. */
export interface LiveObject extends ObjectKey {
  uid: string;
  /** Value of its owner's annotation. */
  owner: string | undefined;
  /** Losses with it, in words: a namespace's content, a claim's volume. Empty: none. */
  holds: string[];
  /** The object itself, for callers that need more. */
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
  /** Helm's word, e.g. `deployed` or `pending-upgrade`. */
  status: string;
  /** Name of the chart; empty where the record cannot be read. */
  chart: string;
  /** The user's values. */
  values: unknown;
}

/** The guard's calls to a cluster. Every call has a limit. */
export interface ClusterObjects {
  /** The object; undefined when it, its namespace or its kind is not there. */
  read(key: ObjectKey): Promise<LiveObject | undefined>;
  /** Value of an object's owner annotation, without a look at the object's content. */
  ownerOf(key: ObjectKey): Promise<string | undefined>;
  /** Objects of a kind with this owner, of one namespace or of all. None where their list is forbidden. */
  ownedBy(
    owner: string,
    kind: Pick<ObjectKey, "apiVersion" | "kind">,
    namespace?: string,
  ): Promise<LiveObject[]>;
  /** Helm's records of a release, the oldest first. */
  records(namespace: string, release: string): Promise<ReleaseRecord[]>;
  /** Deletes exactly this object with what depends on it, and waits until it is gone. */
  remove(object: LiveObject): Promise<void>;
  forget(namespace: string, record: ReleaseRecord): Promise<void>;
}

/**
 * Who makes an object: a resource of a stack, and the provider's id, which Pulumi draws once and keeps in the stack's
 * state. So a stack of the same name with another state is another owner.
 */
export const ownerText = (stack: string, resource: string, provider: string): string =>
  `${stack}/${resource} ${provider}`;

/** Whether two owners are of one stack and its state. */
export function sameStack(one: string, other: string): boolean {
  const stackOf = (owner: string): string => owner.replace(/^(\S+)\/[^\s/]+ /, "$1 ");
  return stackOf(one) === stackOf(other);
}

/**
 * Name of the first one's stack, where both owners are of one project and of different stacks; else undefined. A
 * stack that was renamed finds its own objects so: `pulumi stack rename` changes the names in its state, and nothing
 * in the cluster.
 */
export function otherStack(one: string, other: string): string | undefined {
  const [[project, stack], [sameProject, own]] = [one.split("/"), other.split("/")];
  return project === sameProject && stack !== own ? stack : undefined;
}
