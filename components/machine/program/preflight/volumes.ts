import type { Problem } from "../../../clients/failure";
import type { BoundClaim, Cluster } from "../kubernetes/cluster";
import { ifDataMayGo, type PreflightTask } from "./task";
import { faultOf } from "../../../recipe/rules/fault";
import texts from "../texts.json";

type Volume = PreflightTask["volumes"][number];

/**
 * Volumes that the update would replace, with the loss of their data: neither the class of a claim changes (kubernetes,
 * pkg/apis/core/validation, ValidatePersistentVolumeClaimUpdate) nor its namespace, so Pulumi deletes it and makes another one.
 * The preview says it too; an update without one does not see that.
 */
export async function lostVolumes(
  { volumes, mark }: Pick<PreflightTask, "volumes" | "mark">,
  cluster: Pick<Cluster, "boundClaims">,
): Promise<Problem[]> {
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

function another({ field, name, namespace, storageClass }: Volume, { givenClass, storageClass: has }: BoundClaim) {
  return {
    field: `${field}.storageClass`,
    problem: `is ${storageClass ?? "left to the cluster"}, and claim ${namespace}/${name} was made with ${
      givenClass ?? `that of the cluster, ${has}`
    }`,
    why: "Kubernetes does not change the class of a claim, so the claim would be deleted with its data, and another one made",
    remedy: `${givenClass === undefined ? "leave storageClass out" : `write ${givenClass}`}; ${ifDataMayGo}`,
  };
}

function moved({ field, namespace }: Volume, claim: BoundClaim) {
  return { field: `${field}.namespace`, ...faultOf(texts.volumeNamespace, { namespace, claim, ifDataMayGo }) };
}
