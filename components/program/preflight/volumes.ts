import type { FieldFinding } from "../../clients/failure";
import type { BoundClaim, Cluster, Storage } from "../cluster/cluster";
import type { Report } from "../progress";
import { answerOrReport } from "./or-report";
import { ifDataMayGo, type PreflightTask } from "./task";

type Volume = PreflightTask["volumes"][number];

/**
 * Findings about volumes whose data the update would delete. Kubernetes cannot change the class or the namespace of a
 * claim (kubernetes, pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate). So Pulumi would delete the claim
 * and create a new one. The preview shows this as well, but a user may update without a preview.
 *
 * Warns of new volumes that nothing in the cluster would back. This is no finding, because the user's program may
 * create the StorageClass in the same update.
 */
export async function askForVolumes(
  { volumes, mark }: Pick<PreflightTask, "volumes" | "mark">,
  cluster: Pick<Cluster, "boundClaims" | "storage">,
  report: Report,
): Promise<FieldFinding[]> {
  if (volumes.length === 0) return [];
  const claims = await cluster.boundClaims(mark.annotation);
  // The annotation names the resource and then its provider (`ownerText`).
  const claimOf = ({ owner: resource }: Volume): BoundClaim | undefined =>
    claims.find(({ owner }) => owner.startsWith(`${resource} `));
  const newVolumes = volumes.filter((volume) => claimOf(volume) === undefined);
  if (newVolumes.length > 0) await warnOfMissingStorage(newVolumes, cluster, report);
  return volumes.flatMap((volume) => {
    const claim = claimOf(volume);
    if (claim === undefined) return [];
    if (claim.namespace !== volume.namespace) return [otherOwnerFinding(volume, claim)];
    return claim.givenClass === volume.storageClass ? [] : [otherClassFinding(volume, claim)];
  });
}

async function warnOfMissingStorage(
  newVolumes: readonly Volume[],
  cluster: Pick<Cluster, "storage">,
  report: Report,
): Promise<void> {
  const unknownText = (why: string): string =>
    `not known whether the cluster has storage for the workloads' volumes (${why})`;
  const storage = await answerOrReport(undefined, cluster.storage(), report, unknownText);
  if (storage === undefined) return;
  for (const volume of newVolumes) {
    const missing = missingStorage(volume, storage);
    if (missing === undefined) continue;
    const { namespace, name, field } = volume;
    report(
      `warning: ${field}: nothing in the cluster backs the volume of claim ${namespace}/${name}: ${missing.problem}; until something does, its pod stays Pending, and the update fails after timeouts.workload; ${missing.remedy}`,
    );
  }
}

/** What the cluster lacks for a new claim; undefined if a StorageClass or a free volume can back the claim. */
function missingStorage(
  { storageClass, field }: Volume,
  { classes, classesOfFreeVolumes }: Storage,
): Record<"problem" | "remedy", string> | undefined {
  if (classesOfFreeVolumes.includes(storageClass ?? "")) return undefined;
  const names = classes.map(({ name }) => name).join(", ");
  if (storageClass !== undefined)
    return classes.some(({ name }) => name === storageClass)
      ? undefined
      : {
          problem: `it has no StorageClass ${storageClass}${names === "" ? "" : ` (but ${names})`}`,
          remedy: `create StorageClass ${storageClass}, or change ${field}.storageClass`,
        };
  if (classes.some(({ isDefault }) => isDefault)) return undefined;
  return names === ""
    ? {
        problem: "it has no StorageClass",
        remedy: "install a provisioner, and mark its StorageClass as default",
      }
    : {
        problem: `none of its StorageClasses (${names}) is the default`,
        remedy: `set ${field}.storageClass to one of them`,
      };
}

function otherClassFinding(volume: Volume, { givenClass, storageClass }: BoundClaim) {
  const [statedClass, existingClass] = [
    volume.storageClass ?? "not set",
    givenClass ?? `the cluster's default, ${storageClass}`,
  ];
  const remedy = givenClass === undefined ? "remove storageClass" : `write ${givenClass}`;
  return {
    field: `${volume.field}.storageClass`,
    problem: `is ${statedClass}, but claim ${volume.namespace}/${volume.name} was created with ${existingClass}`,
    why: "Kubernetes cannot change the class of a claim, so Pulumi would delete the claim with its data and create an empty one",
    remedy: `${remedy}. ${ifDataMayGo}`,
  };
}

const otherOwnerFinding = ({ field, namespace }: Volume, claim: BoundClaim) => ({
  field: `${field}.namespace`,
  problem: `is ${namespace}, but the workload's volume is in ${claim.namespace}`,
  why: `a volume cannot move to another namespace, so Pulumi would delete claim ${claim.namespace}/${claim.name} with its data`,
  remedy: `write ${claim.namespace}. ${ifDataMayGo}`,
});
