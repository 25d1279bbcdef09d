import type { KubeConfig, V1ManagedFieldsEntry } from "@kubernetes/client-node";
import * as fs from "node:fs";
import { KubernetesApi } from "./kubernetes-api";
import { MANAGER } from "./manager";

/** A node, as far as it tells which machine it is. */
export interface AskedNode {
  name: string;
  /** Changes with every boot; the machine has the same one. */
  bootId: string;
  addresses: string[];
}

/** A claim with a volume, whose data would be lost with it. */
export interface BoundClaim {
  name: string;
  namespace: string;
  /** What the annotation says. */
  owner: string;
  /** Class that the stack gave it; undefined where it left that to the cluster. */
  givenClass: string | undefined;
  /** Class that it has. */
  storageClass: string;
}

/** The cluster of a kubeconfig, as far as something is asked of it before machines are touched. */
export type AskedCluster = Pick<RealAskedCluster, keyof RealAskedCluster>;

/** The real one behind its API. */
export class RealAskedCluster extends KubernetesApi {
  /** URL of its API. */
  readonly server: string;
  /** Certificates (PEM) by which its API is known; undefined where the kubeconfig names none. */
  readonly authority: string | undefined;

  constructor(config: KubeConfig, secrets: readonly string[]) {
    super(config, secrets);
    const cluster = config.getCurrentCluster();
    this.server = cluster?.server ?? "";
    this.authority = cluster?.caData
      ? Buffer.from(cluster.caData, "base64").toString()
      : cluster?.caFile && fs.existsSync(cluster.caFile)
        ? fs.readFileSync(cluster.caFile, "utf8")
        : undefined;
  }

  async nodes(): Promise<AskedNode[]> {
    const list = await this.call("nodes", () => this.core.listNode());
    return list!.items.map(({ metadata, status }) => ({
      name: metadata?.name ?? "",
      bootId: status?.nodeInfo?.bootID ?? "",
      addresses: (status?.addresses ?? []).map(({ address }) => address),
    }));
  }

  /** Annotation of a namespace; undefined where there is no such namespace, or no such annotation. */
  async annotationOf(namespace: string, annotation: string): Promise<string | undefined> {
    const found = await this.call(`Namespace ${namespace}`, () => this.core.readNamespace({ name: namespace }), {
      404: undefined,
      403: undefined,
    });
    return found?.metadata?.annotations?.[annotation];
  }

  /** Claims whose volume there is, and that bear the annotation. None where their list is forbidden. */
  async boundClaims(annotation: string): Promise<BoundClaim[]> {
    const list = await this.call("claims", () => this.core.listPersistentVolumeClaimForAllNamespaces(), {
      403: undefined,
    });
    return (list?.items ?? []).flatMap(({ metadata, spec }) => {
      const owner = metadata?.annotations?.[annotation];
      if (owner === undefined || !spec?.volumeName) return [];
      const { name = "", namespace = "", managedFields = [] } = metadata ?? {};
      const { storageClassName: storageClass = "" } = spec;
      return [
        { name, namespace, owner, storageClass, givenClass: isClassGiven(managedFields) ? storageClass : undefined },
      ];
    });
  }
}

/**
 * Field managers of what a stack says. Pulumi's Kubernetes provider creates an object under a name of its own, whatever its annotation
 * `pulumi.com/patchFieldManager` says; the first update hands all fields to the annotation's manager (pulumi-kubernetes ≥ 4.29,
 * provider/pkg/await/await.go, Creation and fixCSAFieldManagers).
 */
const stackManagers = [MANAGER, "pulumi-kubernetes"];

/**
 * Whether a claim's class was given by a stack. What the cluster filled in belongs to nobody, or to Kubernetes' controller: the fields
 * of a create are noted before admission sets the default class (kubernetes,
 * staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go).
 */
export function isClassGiven(managedFields: Pick<V1ManagedFieldsEntry, "manager" | "fieldsV1">[]): boolean {
  return managedFields.some(({ manager = "", fieldsV1 }) => {
    const { "f:spec": spec = {} } = (fieldsV1 ?? {}) as { "f:spec"?: object };
    return stackManagers.includes(manager) && "f:storageClassName" in spec;
  });
}
