import {
  type ManagingTool,
  managingToolText,
  restoreCommand,
} from "../clients/kubernetes/managing-tool";
import type { Plan } from "../recipe/types";
import type { Observations } from "./observations";

/**
 * Remedy for a missing external release, which an update of the stack cannot restore: the command of the tool that
 * installed the release. The labels and annotations of the remaining objects name this tool. If they do not, the files
 * of `external` name it. Undefined if the stack installs the release.
 */
export function ownersRemedy(
  { kubernetes }: Plan,
  { daemonSets = [], deployments = [] }: Observations,
): string | undefined {
  if (!kubernetes.external) return undefined;
  const { release, by } = kubernetes;
  const [markedTool] = [...daemonSets, ...deployments].flatMap(({ namespace, managedBy }) =>
    namespace === release.namespace &&
    managedBy !== undefined &&
    /nvidia|nvdp|gpu|dra/.test(managedBy.name)
      ? [managedBy]
      : [],
  );
  const managedBy = markedTool ?? managingToolOfStack(by, release);
  if (managedBy === undefined)
    return "this stack does not install the GPU provider: install it again with the tool that manages it (Flux: `flux reconcile helmrelease NAME --force`; Argo CD: `argocd app sync NAME`; Helm: `helm upgrade`)";
  return `${managingToolText(managedBy)} installs the GPU provider, and \`pulumi up\` does not: run \`${restoreCommand(managedBy)}\``;
}

function managingToolOfStack(
  by: string | undefined,
  { name, namespace }: Plan["kubernetes"]["release"],
): ManagingTool | undefined {
  if (by === "Flux") return { by, name, namespace };
  if (by === "Argo CD") return { by, name };
  return by === "helmfile" ? { by: "Helm", name, namespace } : undefined;
}
