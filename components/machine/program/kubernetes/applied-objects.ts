import type { KubeConfig, KubernetesObject, KubernetesObjectApi } from "@kubernetes/client-node";
import type { PutBackTask } from "../task";
import { client } from "../../../clients/kubernetes/client";
import { KubernetesApi } from "../../../clients/kubernetes/kubernetes-api";
import type { AppliedObjects } from "./put-back";

type Wanted = PutBackTask["objects"][number];

/** Objects of any kind, of the real cluster behind its API. */
export class LiveObjects extends KubernetesApi implements AppliedObjects {
  private readonly objects: KubernetesObjectApi;

  constructor(config: KubeConfig, secrets: readonly string[]) {
    super(config, secrets);
    this.objects = client().KubernetesObjectApi.makeApiClient(config);
  }

  read({ apiVersion, kind, metadata: { name, namespace } }: Wanted): Promise<KubernetesObject | undefined> {
    const header = { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
    return this.call(`${kind} ${name}`, () => this.objects.read(header), { 404: undefined });
  }

  async apply(object: Wanted, manager: string): Promise<KubernetesObject> {
    // Forced: somebody else's hand on our fields is what this is to undo.
    const request = (): Promise<KubernetesObject> =>
      this.objects.patch(
        object as KubernetesObject,
        undefined,
        undefined,
        manager,
        true,
        client().PatchStrategy.ServerSideApply,
      );
    return (await this.call(`${object.kind} ${object.metadata.name}`, request))!;
  }
}
