import { findingsOf } from "../../../components/recipe";
import { validStack } from "../stacks";

const access = (role: string): string =>
  `machine: {features: {kubernetesTalosAPIAccess: {enabled: true, allowedRoles: [os:reader, ${role}]}}}`;

test.each([
  [access("os:admin"), "has os:admin in machine.features.kubernetesTalosAPIAccess.allowedRoles"],
  [access("os:operator"), undefined],
  [
    "{apiVersion: v1alpha1, kind: KubeTalosAPIAccessConfig, allowedRoles: [os:admin]}",
    "has os:admin in allowedRoles",
  ],
  ["{apiVersion: v1alpha1, kind: KubeTalosAPIAccessConfig, allowedRoles: [os:reader]}", undefined],
  [
    "{apiVersion: v1alpha1, kind: KubeServiceAccountConfig, issuer: {privateKey: x}}",
    "sets issuer.privateKey",
  ],
  [
    "{apiVersion: v1alpha1, kind: KubeServiceAccountConfig, issuer: {url: https://example.org}}",
    undefined,
  ],
  ["{apiVersion: v1alpha1, kind: KubeClusterConfig, clusterName: other}", "is a KubeClusterConfig"],
  ["cluster: {id: other}", "sets cluster.id"],
])("Omni's answer to the patch %s: %s", (patch, refused) => {
  const stack = validStack("omni");
  const machines = { "gpu-1": { ...stack.machines["gpu-1"]!, patches: [patch] } };
  const findings = findingsOf({ ...stack, machines }).filter(({ check }) => check === "omni-patch");
  expect(findings.map(({ problem }) => problem)).toEqual(
    refused === undefined ? [] : [expect.stringContaining(refused)],
  );
});
