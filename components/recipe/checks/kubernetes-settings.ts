import * as semver from "semver";
import { admissionPlugins, featureGates, flags } from "../facts/data/kubernetes-removed.json";
import type { UserPatch } from "../machine/user-patches";
import { asText, mappingAt, valueAt } from "../mapping";
import { valueOfDocument } from "../rules/yaml";
import { type Checks, findPerPatch } from "./check";

/** Checks of patches that set options of Kubernetes' components. */
export const kubernetesSettingsChecks = {
  "kubernetes-removed": {
    rule: "No patch of an owned machine has a flag, feature gate or admission plugin that the stack's Kubernetes release no longer has",
    source:
      "siderolabs/go-kubernetes, kubernetes/upgrade/checks.go (the checks of `talosctl upgrade-k8s`)",
    ofFiles: false,
    find: findPerPatch(({ patch, machines }, { spec: { kubernetesVersion } }) => {
      const minor = semver.parse(kubernetesVersion)?.minor;
      const isOwned = machines.some(({ spec }) => spec.configuration === "owned");
      if (minor === undefined || !isOwned) return [];
      return componentsOf(patch)
        .flatMap(removedOf)
        .filter(({ removed }) => removed <= minor)
        .map(({ component, setting, removed }) => ({
          problem: `sets ${setting}, which Kubernetes 1.${removed} removed from ${component}`,
          why: `${component} ${kubernetesVersion!} exits at its start if it gets a setting that it does not know`,
          remedy: "remove it from the patch",
        }));
    }),
  },
} satisfies Checks;

/** Settings of one Kubernetes component in a patch. */
interface Component {
  component: string;
  /** Flags of the component, without the dashes. */
  args: Record<string, unknown>;
  /** Feature gates in the component's own configuration. */
  gates: string[];
}

/**
 * Kubernetes components that Talos runs as static pods. `field` is the component's field below `cluster`; `kind` is its
 * document in Talos 1.14 and newer (siderolabs/talos, pkg/machinery/config/types).
 */
const staticPods = [
  { component: "kube-apiserver", field: "apiServer", kind: "KubeAPIServerConfig" },
  {
    component: "kube-controller-manager",
    field: "controllerManager",
    kind: "KubeControllerManagerConfig",
  },
  { component: "kube-scheduler", field: "scheduler", kind: "KubeSchedulerConfig" },
];

function componentsOf(patch: UserPatch): Component[] {
  const documents = patch.documents.map(valueOfDocument);
  const ofKind = (kind: string): unknown[] =>
    documents.filter((value) => valueAt(value, "kind") === kind);
  const part = (component: string, value: unknown, gates: string[] = []): Component => ({
    component,
    args: mappingAt(value, "extraArgs"),
    gates,
  });
  const gatesAt = (value: unknown, config: string): string[] =>
    Object.keys(mappingAt(value, config, "featureGates"));
  const kubelet = valueAt(patch.config, "machine", "kubelet");
  return [
    ...staticPods.flatMap(({ component, field, kind }) =>
      [valueAt(patch.config, "cluster", field), ...ofKind(kind)].map((value) =>
        part(component, value),
      ),
    ),
    part("kubelet", kubelet, gatesAt(kubelet, "extraConfig")),
    ...ofKind("KubeletConfig").map((value) => part("kubelet", value, gatesAt(value, "config"))),
  ];
}

/** Settings of a component that Kubernetes has removed, each with the minor release that removed the setting. */
function removedOf({ component, args, gates }: Component) {
  const listed = (flag: string): string[] =>
    [args[flag]].flat().flatMap((value) => asText(value).split(","));
  const set = [...gates, ...listed("feature-gates")].map((gate) => gate.split("=")[0]!.trim());
  const plugins = component === "kube-apiserver" ? listed("enable-admission-plugins") : [];
  return [
    ...flags
      .filter((row) => row.component === component)
      .flatMap(named(Object.keys(args), (name) => `the flag --${name}`)),
    ...featureGates.flatMap(named(set, (name) => `the feature gate ${name}`)),
    ...admissionPlugins.flatMap(named(plugins, (name) => `the admission plugin ${name}`)),
  ].map((setting) => ({ component, ...setting }));
}

const named =
  (present: readonly string[], title: (name: string) => string) =>
  ({ removed, names }: { removed: number; names: readonly string[] }) =>
    names
      .filter((name) => present.includes(name))
      .map((name) => ({ setting: title(name), removed }));
