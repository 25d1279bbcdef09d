import type { FieldFinding } from "../../clients/failure";
import type { BoundClaim, Cluster } from "../cluster/cluster";
import { ifDataMayGo, type PreflightTask } from "./task";

type Volume = PreflightTask["volumes"][number];

/**
 * Volumes that the update would replace, with the loss of their data: neither the class of a claim changes (kubernetes,
 * pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate) nor its namespace, so Pulumi deletes the claim and
 * makes a new one. The preview says it too; an update without one does not see that.
 */
export async function lostVolumes(
  { volumes, mark }: Pick<PreflightTask, "volumes" | "mark">,
  cluster: Pick<Cluster, "boundClaims">,
): Promise<FieldFinding[]> {
  if (volumes.length === 0) return [];
  const claims = await cluster.boundClaims(mark.annotation);
  return volumes.flatMap((volume) => {
    // Behind the resource, the mark has the provider (`ownerText`).
    const claim = claims.find(({ owner }) => owner.startsWith(`${volume.owner} `));
    if (claim === undefined) return [];
    if (claim.namespace !== volume.namespace) return [moved(volume, claim)];
    return claim.givenClass === volume.storageClass ? [] : [another(volume, claim)];
  });
}

function another(volume: Volume, { givenClass, storageClass }: BoundClaim) {
  const [is, was] = [
    volume.storageClass ?? "left to the cluster",
    givenClass ?? `that of the cluster, ${storageClass}`,
  ];
  const remedy = givenClass === undefined ? "leave storageClass out" : `write ${givenClass}`;
  return {
    field: `${volume.field}.storageClass`,
    problem: `is ${is}, and claim ${volume.namespace}/${volume.name} was made with ${was}`,
    why: "Kubernetes cannot change the class of a claim, so Pulumi would delete the claim with its data and create an empty one",
    remedy: `${remedy}; ${ifDataMayGo}`,
  };
}

const moved = ({ field, namespace }: Volume, claim: BoundClaim) => ({
  field: `${field}.namespace`,
  problem: `is ${namespace}, and the workload's volume is in ${claim.namespace}`,
  why: `a volume does not move to another namespace, so claim ${claim.namespace}/${claim.name} would be deleted with its data`,
  remedy: `write ${claim.namespace}; ${ifDataMayGo}`,
});
