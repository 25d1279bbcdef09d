import { isDeepStrictEqual } from "node:util";
import { ifDataMayGo } from "../../program/preflight/task";
import { titleOf, type ObjectKey } from "../../clients/kubernetes/api";
import type { FieldFinding } from "../../recipe/rules/finding";
import { type LiveObject, otherStack, type ReleaseRecord } from "./live";

/**
 * What to do before an object is created: delete the objects in `toDelete`, which a killed update left, or end the update
 * with `refuse`. An empty `toDelete` means that nothing must be done.
 */
export type Verdict<T> = { toDelete: T[]; message?: string } | { refuse: FieldFinding };

const noVerdict = { toDelete: [] };

/** Kinds that keep irreplaceable data. */
type Keeper = "Namespace" | "PersistentVolumeClaim";

/** Whether the object is of a kind that may keep data, which would be lost with the object. */
export const keepsData = <Key extends ObjectKey>(key: Key): key is Key & { kind: Keeper } =>
  key.kind === "Namespace" || key.kind === "PersistentVolumeClaim";

const reasons: Record<Keeper, string> = {
  Namespace: " (because of --replace)",
  // Fields of a claim that do not change: kubernetes, pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate.
  PersistentVolumeClaim: " (because of a changed storageClass or --replace)",
};

const remedies: Record<Keeper, string> = {
  Namespace: "update without --replace",
  PersistentVolumeClaim: `set storageClass to its former value, and update without --replace. ${ifDataMayGo}`,
};

const sameName =
  "Pulumi first creates the new claim, and then deletes the old claim by its name. The new claim has the same name, so Pulumi would delete the new claim";

/** A list in words, cut after ten entries, because a namespace may have thousands of objects. */
const inWords = (held: readonly string[]): string =>
  held.length <= 10
    ? held.join(", ")
    : `${held.slice(0, 10).join(", ")} and ${held.length - 10} more`;

/** Remedy for a PersistentVolumeClaim that no pod has used. */
const emptyClaim =
  "remove the workload from the stack for one update, then add it again with the `storageClass` that you want. Nothing is lost, because the claim has no volume yet";

const pendingCreate =
  "pulumi refresh --import-pending-creates (the page on troubleshooting has the whole command)";

/**
 * Decides what to do if Pulumi is about to create an object, and one of that name already exists.
 *
 * Pulumi's Kubernetes provider refuses to create an existing object (pulumi-kubernetes, provider/pkg/await/await.go,
 * Creation). With `upsertExistingObjects` it takes over an object of any owner. An object may have the owner annotation
 * of the same resource: then Pulumi was killed before it recorded the created object in its state.
 *
 * @param live The existing object of this name.
 * @param owner Owner of the new object; undefined in a first preview, where it is not known yet.
 * @param preview Whether this is a preview. A preview accepts an existing object of the same resource if the update may
 *   delete the object. It refuses an object that keeps data, also with `--replace`: Pulumi would create the new object
 *   first, and then delete the old one by its name. The new object has the same name, so Pulumi would delete the new
 *   one. The preview also refuses a PersistentVolumeClaim without a volume, because Pulumi would delete the new claim,
 *   which a pod may have bound by then.
 */
export function verdictOnObject(
  live: LiveObject | undefined,
  owner: string | undefined,
  preview: boolean,
): Verdict<LiveObject> {
  if (live === undefined) return noVerdict;
  if (owner !== undefined && live.owner === owner) {
    const isClaim = live.kind === "PersistentVolumeClaim";
    const isEmpty = live.holds.length === 0;
    if (preview && !isClaim && !(keepsData(live) && !isEmpty)) return noVerdict;
    if (!isClaim && isEmpty)
      return {
        toDelete: [live],
        message: `${titleOf(live)}: left by a killed update; this update creates it again`,
      };
    return { refuse: replacedOrLost(live) };
  }
  if (live.owner !== undefined) return { refuse: ofAnotherOwner(live, live.owner, owner) };
  if (preview && live.kind !== "Namespace") return noVerdict;
  return { refuse: withoutOwner(live) };
}

/**
 * Finding about an existing object of the same resource that must not be deleted. It names two reasons, because a hook
 * cannot distinguish a replacement from a creation after a killed update.
 */
function replacedOrLost(live: LiveObject): FieldFinding {
  const field = titleOf(live);
  const reason = keepsData(live) ? reasons[live.kind] : "";
  const problem = `would be replaced${reason}, or was left by a killed update`;
  const afterKill = `if an update was killed, import the object into the stack's state: ${pendingCreate}`;
  if (live.holds.length === 0)
    return { field, problem, why: sameName, remedy: `${afterKill}. Otherwise ${emptyClaim}` };
  return {
    field,
    problem: `${problem}, and contains ${inWords(live.holds)}`,
    why: "its content would be lost",
    remedy: `${afterKill}${keepsData(live) ? `. Otherwise ${remedies[live.kind]}` : ""}`,
  };
}

/** Finding about an object whose owner annotation names another stack, or another resource of this stack. */
function ofAnotherOwner(
  live: LiveObject,
  liveOwner: string,
  owner: string | undefined,
): FieldFinding {
  const former = owner === undefined ? undefined : otherStack(liveOwner, owner);
  const renamed =
    former === undefined
      ? ""
      : `. If you renamed the stack from ${former}, rename it back: pulumi stack rename ${former}`;
  return {
    field: titleOf(live),
    problem: `already exists, and was created by ${liveOwner.split(" ")[0]!}`,
    why: "two stacks, or two resources, would change and delete the same object",
    remedy: `give one of the two objects another name or namespace. If you renamed the resource, give it an alias${renamed}`,
  };
}

/** Finding about an object without an owner annotation. */
const withoutOwner = (live: LiveObject): FieldFinding => ({
  field: titleOf(live),
  problem: "already exists, and does not belong to this stack",
  why: "the stack would take it over, and later delete it",
  remedy: `choose another name or namespace, delete the object if it is not needed, or import it into the stack's state: ${pendingCreate}`,
});

/**
 * Refuses a new name or namespace for an object with data: Pulumi would delete the old object, and its data, once the
 * new object exists.
 *
 * @param owned Objects whose owner annotation names the resource that is being created.
 */
export function verdictOnMove(
  owned: readonly LiveObject[],
  target: ObjectKey,
): Verdict<LiveObject> {
  const isData = (content: string): boolean => /^(volume|PersistentVolumeClaim) /.test(content);
  const previousObject = owned.find(
    (object) => titleOf(object) !== titleOf(target) && object.holds.some(isData),
  );
  if (previousObject === undefined) return noVerdict;
  return {
    refuse: {
      field: titleOf(previousObject),
      problem: `contains ${inWords(previousObject.holds.filter(isData))}, and would be deleted once ${titleOf(target)} exists`,
      why: "volumes do not move to another namespace, so their data would be lost",
      remedy: `set the namespace to its former value. ${ifDataMayGo}`,
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
  /** Whether the release's namespace belongs to this stack. */
  namespaceIsOurs: boolean;
  /** Whether the stack takes over the existing release of this name (`takeOver`). */
  takesOver: boolean;
}

/**
 * Decides what to do about Helm's records of a release that Pulumi is about to install or upgrade. Helm refuses to
 * install under a name that has a record (helm, pkg/action/install.go, availableName). It refuses to upgrade while the
 * last record shows a running operation (upgrade.go, errPending). A killed operation leaves such a record, which
 * nothing else removes. After the removal of the record, an upgrade continues from the previous revision, and an
 * installation takes over the objects that carry the release's name (pkg/action/validate.go).
 */
export function verdictOnRelease(
  records: readonly ReleaseRecord[],
  step: ReleaseStep,
  preview: boolean,
): Verdict<ReleaseRecord> {
  const lastRecord = records.at(-1);
  const title = `Helm release ${step.namespace}/${step.name}`;
  if (lastRecord === undefined) return noVerdict;
  if (!step.creates) {
    if (!lastRecord.status.startsWith("pending-") || records.length < 2) return noVerdict;
    return {
      toDelete: preview ? [] : [lastRecord],
      message: `${title}: revision ${lastRecord.revision} is ${lastRecord.status}, left by a killed update; Helm continues from the previous revision`,
    };
  }
  const isChart = lastRecord.chart === chartName(step.chart);
  if (
    step.namespaceIsOurs ||
    (isChart && isDeepStrictEqual(plain(lastRecord.values), plain(step.values)))
  ) {
    const message = `${title}: ${lastRecord.status}, left by a killed update; Helm installs it again, over the existing objects`;
    return preview ? noVerdict : { toDelete: [...records], message };
  }
  if (step.takesOver && isChart) {
    const message = `${title}: this stack takes the release over: the update deletes Helm's records of it (${records.length}) and keeps the release's objects. Helm then replaces the pods that the stack's values change`;
    return { toDelete: preview ? [] : [...records], message };
  }
  // At preview, this may be the stack's own release with earlier values, which only the update replaces.
  if (preview && isChart) {
    const message = `${title}: already exists with other values. If it belongs to this stack, the update replaces it. If it does not, uninstall the release first, or choose another namespace: otherwise the update upgrades the machines, and then fails at this release`;
    return { toDelete: [], message };
  }
  return { refuse: foreignRelease(title, lastRecord, isChart ? step.name : undefined) };
}

/**
 * Finding about an existing release that counts as the release of another owner: its namespace does not belong to this
 * stack, its values differ from the stack's, and the stack does not take it over.
 */
const foreignRelease = (
  field: string,
  { chart, status }: ReleaseRecord,
  takeOver: string | undefined,
): FieldFinding => ({
  field,
  problem: `already exists (${chart || "unknown chart"}, ${status}), and does not belong to this stack`,
  why:
    takeOver === undefined
      ? "Helm installs no second release of this name in a namespace"
      : "two releases would allocate the same GPUs",
  remedy:
    takeOver === undefined
      ? "uninstall it, or give this stack's release another namespace"
      : `to leave the release to the tool that installed it, set \`external\`. To take the release over, set \`takeOver: ${takeOver}\``,
});

const chartName = (chart: string): string => chart.split("/").at(-1)!;

const plain = (values: unknown): unknown => JSON.parse(JSON.stringify(values ?? {}));
