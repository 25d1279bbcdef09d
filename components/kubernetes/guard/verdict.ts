import { isDeepStrictEqual } from "node:util";
import { ifDataMayGo } from "../../program/preflight/task";
import { titleOf, type ObjectKey } from "../../clients/kubernetes/api";
import type { FieldFinding } from "../../recipe/rules/finding";
import { type LiveObject, otherStack, type ReleaseRecord } from "./live";

/** Action before an object is created: none; delete an object that a killed update left; or end the update. */
export type Verdict<T> = { take: T[]; say?: string } | { refuse: FieldFinding };

const nothing = { take: [] };

/** Kinds that keep irreplaceable data. */
type Keeper = "Namespace" | "PersistentVolumeClaim";

/** Whether an object's end is the end of data. */
export const keepsData = <Key extends ObjectKey>(key: Key): key is Key & { kind: Keeper } =>
  key.kind === "Namespace" || key.kind === "PersistentVolumeClaim";

const reasons: Record<Keeper, string> = {
  Namespace: " (--replace)",
  // Fields of a claim that do not change: kubernetes, pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate.
  PersistentVolumeClaim: " (another storageClass, or --replace)",
};

const remedies: Record<Keeper, string> = {
  Namespace: "leave --replace out; ",
  PersistentVolumeClaim: `set storageClass to its former value, and leave --replace out; ${ifDataMayGo}; `,
};

const nameOfBoth =
  "both have the same name: Pulumi creates the new one, then deletes the old one by its name, and so deletes the new one";

/** The first of many: a namespace may hold thousands of objects. */
const inWords = (held: readonly string[]): string =>
  held.length <= 10
    ? held.join(", ")
    : `${held.slice(0, 10).join(", ")} and ${held.length - 10} more`;

/** How to change a claim that no pod has used. */
const emptyClaim =
  "it has no volume yet, so nothing is lost: take the workload out of the stack for one update, then add it again with this class; ";

const pendingCreate =
  "pulumi refresh --import-pending-creates (the page on troubleshooting has the whole command)";

/**
 * Decides what to do about an existing object with the name of one that Pulumi is about to create.
 *
 * Pulumi's Kubernetes provider refuses to create an existing object (pulumi-kubernetes, provider/pkg/await/await.go,
 * Creation), and with `upsertExistingObjects` takes over anybody's. An object with the mark of the very resource that
 * is being created is one that Pulumi lost: it was killed after it had created the object and before it had recorded
 * that.
 *
 * @param live The existing object of this name.
 * @param owner Who creates it; undefined while that is not known yet, in a first preview.
 * @param preview Whether it only would be created. Then an object may still go by the update itself, but for what
 * keeps data: no update takes that away in favour of another, not even `--replace`. Pulumi makes the new one first,
 * and then deletes the old one by its name, which is the new one's. So a claim is not taken away either that has no
 * volume yet: a pod may bind the new one meanwhile.
 */
export function verdictOnObject(
  live: LiveObject | undefined,
  owner: string | undefined,
  preview: boolean,
): Verdict<LiveObject> {
  if (live === undefined) return nothing;
  if (owner !== undefined && live.owner === owner) {
    const isClaim = live.kind === "PersistentVolumeClaim";
    const isEmpty = live.holds.length === 0;
    if (preview && !isClaim && !(keepsData(live) && !isEmpty)) return nothing;
    if (!isClaim && isEmpty)
      return {
        take: [live],
        say: `${titleOf(live)}: left by an update that was killed; it is made again`,
      };
    return { refuse: replacedOrLost(live) };
  }
  if (live.owner !== undefined) return { refuse: ofAnotherOwner(live, live.owner, owner) };
  if (preview && live.kind !== "Namespace") return nothing;
  return { refuse: withoutOwner(live) };
}

/**
 * An object of this very resource that must not be deleted. Pulumi tells its hook the same of a replacement, and of a
 * creation after a kill.
 */
function replacedOrLost(live: LiveObject): FieldFinding {
  const field = titleOf(live);
  const reason = keepsData(live) ? reasons[live.kind] : "";
  const problem = `is to be replaced${reason}, or was left by an update that was killed`;
  const afterKill = `after a kill, take it into the stack's state: ${pendingCreate}`;
  if (live.holds.length === 0)
    return { field, problem, why: nameOfBoth, remedy: `${emptyClaim}${afterKill}` };
  return {
    field,
    problem: `${problem}, and holds ${inWords(live.holds)}`,
    why: "what it holds would be lost",
    remedy: `${keepsData(live) ? remedies[live.kind] : ""}${afterKill}`,
  };
}

/** An object with the mark of another stack, or of another resource of this one. */
function ofAnotherOwner(
  live: LiveObject,
  liveOwner: string,
  owner: string | undefined,
): FieldFinding {
  const former = owner === undefined ? undefined : otherStack(liveOwner, owner);
  const renamed =
    former === undefined
      ? ""
      : `; if you renamed the stack from ${former}, rename it back: pulumi stack rename ${former}`;
  return {
    field: titleOf(live),
    problem: `is in the cluster already, made by ${liveOwner.split(" ")[0]!}`,
    why: "two stacks, or two resources, would change and delete the same object",
    remedy: `give one of them another name or namespace, or an alias if it was renamed${renamed}`,
  };
}

/** An object that no stack has marked. */
const withoutOwner = (live: LiveObject): FieldFinding => ({
  field: titleOf(live),
  problem: "is in the cluster already, and is not this stack's",
  why: "the stack would take it over, and later delete it",
  remedy: `choose another name or namespace, delete it if it is not needed, or take it into the stack's state: ${pendingCreate}`,
});

/**
 * Refuses to move a resource with data to another name or namespace: Pulumi deletes the old object once the new one
 * exists.
 *
 * @param owned Objects with the mark of the resource that is being created.
 */
export function verdictOnMove(owned: readonly LiveObject[], to: ObjectKey): Verdict<LiveObject> {
  const isData = (held: string): boolean => /^(volume|PersistentVolumeClaim) /.test(held);
  const former = owned.find(
    (object) => titleOf(object) !== titleOf(to) && object.holds.some(isData),
  );
  if (former === undefined) return nothing;
  return {
    refuse: {
      field: titleOf(former),
      problem: `holds ${inWords(former.holds.filter(isData))}, and would be deleted once ${titleOf(to)} exists`,
      why: "volumes do not move to another namespace, so their data would be lost",
      remedy: `set the namespace to its former value; ${ifDataMayGo}`,
    },
  };
}

/** A release about to be created or updated. */
export interface ReleaseStep {
  name: string;
  namespace: string;
  creates: boolean;
  chart: string;
  values: unknown;
  /** Whether the release's namespace is this stack's own. */
  namespaceIsOurs: boolean;
  /** Whether the stack takes over the existing release of this name (`takeOver`). */
  takesOver: boolean;
}

/**
 * Decides what to do about Helm's records of a release that Pulumi is about to install or upgrade. Helm refuses to
 * install under a name that has a record, and to upgrade while the last record is of an operation that goes on (helm,
 * pkg/action/install.go, availableName, and upgrade.go, errPending); one that was killed leaves such a record
 * forever. Without it Helm goes on from the revision before, and an installation takes over the objects with the
 * release's name (pkg/action/validate.go).
 */
export function verdictOnRelease(
  records: readonly ReleaseRecord[],
  step: ReleaseStep,
  preview: boolean,
): Verdict<ReleaseRecord> {
  const last = records.at(-1);
  const title = `Helm release ${step.namespace}/${step.name}`;
  if (last === undefined) return nothing;
  if (!step.creates) {
    if (!last.status.startsWith("pending-") || records.length < 2) return nothing;
    return {
      take: preview ? [] : [last],
      say: `${title}: revision ${last.revision} is ${last.status}, left by an update that was killed; Helm goes on from the one before`,
    };
  }
  const isChart = last.chart === chartName(step.chart);
  if (
    step.namespaceIsOurs ||
    (isChart && isDeepStrictEqual(plain(last.values), plain(step.values)))
  ) {
    const say = `${title}: ${last.status}, left by an update that was killed; it is installed again over what is there`;
    return preview ? nothing : { take: [...records], say };
  }
  if (step.takesOver && isChart) {
    const say = `${title}: is taken over; Helm's ${records.length} records of it go, its objects stay, and pods are replaced where these values change them`;
    return { take: preview ? [] : [...records], say };
  }
  // The stack's own release, too, stands there at preview that the update replaces for other values: it goes only in
  // the update.
  if (preview && isChart) {
    const say = `${title}: is in the cluster with other values; if it is this stack's, the update replaces it; if it belongs to another owner, the update fails at this point, after it has upgraded the machines; to avoid that, uninstall it first, or give this stack's release another namespace`;
    return { take: [], say };
  }
  return { refuse: foreignRelease(title, last, isChart ? step.name : undefined) };
}

/** A release that is neither this stack's, by its namespace or its values, nor one that it takes over. */
const foreignRelease = (
  field: string,
  { chart, status }: ReleaseRecord,
  takeOver: string | undefined,
): FieldFinding => ({
  field,
  problem: `is in the cluster already (${chart || "unknown chart"}, ${status}), and is not this stack's`,
  why: "two would fight over the GPUs",
  remedy:
    takeOver === undefined
      ? "uninstall it, or give this stack's release another namespace"
      : `declare it as external if its owner keeps it, or take it over: takeOver: ${takeOver}`,
});

const chartName = (chart: string): string => chart.split("/").at(-1)!;

const plain = (values: unknown): unknown => JSON.parse(JSON.stringify(values ?? {}));
