import type { FieldFinding } from "../../clients/failure";
import type { BoundClaim, Cluster } from "../cluster/cluster";
import { ifDataMayGo, type PreflightTask } from "./task";

type Volume = PreflightTask["volumes"][number];

/**
 * Findings about volumes whose data the update would delete. Kubernetes cannot change the class or the namespace of a
 * claim (kubernetes, pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate). So Pulumi would delete the claim
 * and create a new one. The preview shows this as well, but a user may update without a preview.
 */
export async function lostVolumes(
  { volumes, mark }: Pick<PreflightTask, "volumes" | "mark">,
  cluster: Pick<Cluster, "boundClaims">,
): Promise<FieldFinding[]> {
  if (volumes.length === 0) return [];
  const claims = await cluster.boundClaims(mark.annotation);
  return volumes.flatMap((volume) => {
    // The annotation names the resource and then its provider (`ownerText`).
    const claim = claims.find(({ owner }) => owner.startsWith(`${volume.owner} `));
    if (claim === undefined) return [];
    if (claim.namespace !== volume.namespace) return [otherOwnerFinding(volume, claim)];
    return claim.givenClass === volume.storageClass ? [] : [otherClassFinding(volume, claim)];
  });
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
