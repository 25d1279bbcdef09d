import type { V1ObjectMeta } from "@kubernetes/client-node";

/** Who keeps an object in a cluster, and by which object of theirs. */
export interface Keeper {
  by: "Flux" | "Argo CD" | "Helm";
  /** Name of the HelmRelease, the Application or the Helm release. */
  name: string;
  /** Namespace of the HelmRelease or the Helm release; absent of an Application, which says it nowhere. */
  namespace?: string;
}

/**
 * Who keeps an object, by the marks that they set; undefined where there is none. helm-controller labels what it
 * installs with its HelmRelease (internal/postrender/build.go); Argo CD annotates what it applies with its
 * Application (argo-cd, docs/user-guide/resource_tracking.md); Helm annotates it with its release (helm,
 * pkg/action/validate.go).
 */
export function keeperOf({ labels = {}, annotations = {} }: V1ObjectMeta = {}): Keeper | undefined {
  const fluxName = labels["helm.toolkit.fluxcd.io/name"];
  if (fluxName !== undefined)
    return { by: "Flux", name: fluxName, ...placed(labels["helm.toolkit.fluxcd.io/namespace"]) };
  const application =
    annotations["argocd.argoproj.io/tracking-id"]?.split(":")[0] ??
    labels["argocd.argoproj.io/instance"];
  if (application !== undefined) return { by: "Argo CD", name: application };
  const release = annotations["meta.helm.sh/release-name"];
  if (release === undefined) return undefined;
  return { by: "Helm", name: release, ...placed(annotations["meta.helm.sh/release-namespace"]) };
}

const placed = (namespace: string | undefined): Pick<Keeper, "namespace"> =>
  namespace === undefined ? {} : { namespace };

/** Tool that manages an object, in words. */
export function keeperWords({ by, name, namespace }: Keeper): string {
  const title = namespace === undefined ? name : `${namespace}/${name}`;
  if (by === "Flux") return `Flux' HelmRelease ${title}`;
  return by === "Helm" ? `Helm release ${title}` : `Argo CD's Application ${title}`;
}

const inNamespace = ({ namespace }: Keeper): string =>
  namespace === undefined ? "" : ` -n ${namespace}`;

/** The command by which its keeper puts an object back; CHART is for the reader to fill in. */
export function restoreCommand(keeper: Keeper): string {
  if (keeper.by === "Flux")
    return `flux reconcile helmrelease ${keeper.name}${inNamespace(keeper)} --force`;
  if (keeper.by === "Argo CD") return `argocd app sync ${keeper.name}`;
  return `helm upgrade ${keeper.name} CHART${inNamespace(keeper)} --reuse-values`;
}

/** How an object is taken away where its keeper would put it back. */
export function removeWords(keeper: Keeper): string {
  if (keeper.by === "Flux") return `take ${keeperWords(keeper)} out of its repository`;
  if (keeper.by === "Argo CD") return `argocd app delete ${keeper.name}`;
  return `helm uninstall ${keeper.name}${inNamespace(keeper)}`;
}
