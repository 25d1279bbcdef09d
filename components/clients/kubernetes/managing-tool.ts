import type { V1ObjectMeta } from "@kubernetes/client-node";

/** The tool that manages an object in a cluster, with the name of its release. */
export interface ManagingTool {
  by: "Flux" | "Argo CD" | "Helm";
  /** Name of the HelmRelease, the Application or the Helm release. */
  name: string;
  /**
   * Namespace of the HelmRelease or the Helm release; absent for an Application, because Argo CD does not write the
   * Application's namespace into labels.
   */
  namespace?: string;
}

/**
 * The tool that manages an object, by the labels and annotations that the tool sets; undefined without these. Flux'
 * helm-controller sets labels with the name of the HelmRelease (internal/postrender/build.go). Argo CD sets an
 * annotation with the name of the Application (argo-cd, docs/user-guide/resource_tracking.md). Helm sets annotations
 * with the name of the release (helm, pkg/action/validate.go).
 */
export function managingToolOf({ labels = {}, annotations = {} }: V1ObjectMeta = {}):
  ManagingTool | undefined {
  const fluxName = labels["helm.toolkit.fluxcd.io/name"];
  if (fluxName !== undefined)
    return {
      by: "Flux",
      name: fluxName,
      ...withNamespace(labels["helm.toolkit.fluxcd.io/namespace"]),
    };
  const application =
    annotations["argocd.argoproj.io/tracking-id"]?.split(":")[0] ??
    labels["argocd.argoproj.io/instance"];
  if (application !== undefined) return { by: "Argo CD", name: application };
  const release = annotations["meta.helm.sh/release-name"];
  if (release === undefined) return undefined;
  return {
    by: "Helm",
    name: release,
    ...withNamespace(annotations["meta.helm.sh/release-namespace"]),
  };
}

const withNamespace = (namespace: string | undefined): Pick<ManagingTool, "namespace"> =>
  namespace === undefined ? {} : { namespace };

/** Name of the tool and its release, for messages. */
export function managingToolText({ by, name, namespace }: ManagingTool): string {
  const title = namespace === undefined ? name : `${namespace}/${name}`;
  if (by === "Flux") return `Flux' HelmRelease ${title}`;
  return by === "Helm" ? `Helm release ${title}` : `Argo CD's Application ${title}`;
}

const inNamespace = ({ namespace }: ManagingTool): string =>
  namespace === undefined ? "" : ` -n ${namespace}`;

/** The command with which the tool restores an object; the user replaces CHART. */
export function restoreCommand(tool: ManagingTool): string {
  if (tool.by === "Flux")
    return `flux reconcile helmrelease ${tool.name}${inNamespace(tool)} --force`;
  if (tool.by === "Argo CD") return `argocd app sync ${tool.name}`;
  return `helm upgrade ${tool.name} CHART${inNamespace(tool)} --reuse-values`;
}

/** How to remove an object that the tool would otherwise restore. */
export function removeWords(tool: ManagingTool): string {
  if (tool.by === "Flux") return `remove ${managingToolText(tool)} from its repository`;
  if (tool.by === "Argo CD") return `run \`argocd app delete ${tool.name}\``;
  return `run \`helm uninstall ${tool.name}${inNamespace(tool)}\``;
}
