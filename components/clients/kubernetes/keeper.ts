import type { V1ObjectMeta } from "@kubernetes/client-node";

/** The tool that manages an object in a cluster, with the name of its release. */
export interface Keeper {
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
export function keeperOf({ labels = {}, annotations = {} }: V1ObjectMeta = {}): Keeper | undefined {
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

const withNamespace = (namespace: string | undefined): Pick<Keeper, "namespace"> =>
  namespace === undefined ? {} : { namespace };

/** Name of the tool and its release, for messages. */
export function keeperWords({ by, name, namespace }: Keeper): string {
  const title = namespace === undefined ? name : `${namespace}/${name}`;
  if (by === "Flux") return `Flux' HelmRelease ${title}`;
  return by === "Helm" ? `Helm release ${title}` : `Argo CD's Application ${title}`;
}

const inNamespace = ({ namespace }: Keeper): string =>
  namespace === undefined ? "" : ` -n ${namespace}`;

/** The command with which the tool restores an object; the user replaces CHART. */
export function restoreCommand(keeper: Keeper): string {
  if (keeper.by === "Flux")
    return `flux reconcile helmrelease ${keeper.name}${inNamespace(keeper)} --force`;
  if (keeper.by === "Argo CD") return `argocd app sync ${keeper.name}`;
  return `helm upgrade ${keeper.name} CHART${inNamespace(keeper)} --reuse-values`;
}

/** How to remove an object that the tool would otherwise restore. */
export function removeWords(keeper: Keeper): string {
  if (keeper.by === "Flux") return `remove ${keeperWords(keeper)} from its repository`;
  if (keeper.by === "Argo CD") return `argocd app delete ${keeper.name}`;
  return `helm uninstall ${keeper.name}${inNamespace(keeper)}`;
}
