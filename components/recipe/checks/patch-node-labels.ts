import { allPatches, type Check } from "./check";
import { labelValue, qualifiedName, shown } from "../rules";

/** Label prefixes of Kubernetes that a kubelet may set on its own node. Source: kubernetes, plugin/pkg/admission/noderestriction. */
const allowed =
  /^(kubernetes\.io\/(hostname|arch|os)|beta\.kubernetes\.io\/(arch|os|instance-type)|node\.kubernetes\.io\/|kubelet\.kubernetes\.io\/|topology\.kubernetes\.io\/(zone|region)|failure-domain\.beta\.kubernetes\.io\/(zone|region))/;

/** Whether NodeRestriction keeps a worker from setting a label on its node. */
function isForbidden(key: string): boolean {
  const domain = key.includes("/") ? (key.split("/")[0] ?? "") : "";
  const isKubernetes = /(^|\.)(kubernetes\.io|k8s\.io)$/.test(domain);
  const isRestricted = /(^|\.)node-restriction\.kubernetes\.io$/.test(domain);
  return isRestricted || (isKubernetes && !allowed.test(key) && !/(^|\.)(node|kubelet)\.kubernetes\.io$/.test(domain));
}

/** No patch has a kubelet label its own node where Kubernetes refuses that. */
export const patchNodeLabels: Check = {
  id: "patch-node-labels",
  source:
    "Kubernetes NodeRestriction; talos#8193; kubernetes v1.34.0, cmd/kubelet/app/options/options.go (ValidateKubeletFlags)",
  find: (context) =>
    allPatches(context).flatMap(({ patch, machines }) => {
      const refused = patch.kubeletLabels.find(
        ([key, value]) => isForbidden(key) || (qualifiedName(key) ?? labelValue(value)) !== undefined,
      );
      if (refused !== undefined)
        return {
          field: patch.field,
          problem: `node-labels has ${shown(refused.join("="))}, which the kubelet does not take`,
          why: "the kubelet stops as it starts, and the machine does not become a node",
          remedy: "write it under machines.<name>.labels, which go through the Kubernetes API",
        };
      if (!machines.some((machine) => machine.spec.role === "worker")) return [];
      return patch.nodeLabels
        .filter(([key]) => isForbidden(key))
        .map(([key]) => ({
          field: patch.field,
          problem: `sets ${key} on a worker`,
          why: "a worker may not set it on itself: Kubernetes refuses the update, and with it every other label that Talos sets",
          remedy: "write it under machines.<name>.labels, which go through the Kubernetes API",
        }));
    }),
};
