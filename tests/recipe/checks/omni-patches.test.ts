import { findingsOf } from "../../../components/recipe";
import { validStack } from "../stacks";

const patchWithRole = (role: string): string =>
  `machine: {features: {kubernetesTalosAPIAccess: {enabled: true, allowedRoles: [os:reader, ${role}]}}}`;

const omniProblems = (patch: string): string[] => {
  const stack = validStack("omni");
  const machines = { "gpu-1": { ...stack.machines["gpu-1"]!, patches: [patch] } };
  return findingsOf({ ...stack, machines }).flatMap(({ check, problem }) =>
    check === "omni-patch" ? [problem] : [],
  );
};

test.each([
  [
    patchWithRole("os:admin"),
    "has os:admin in machine.features.kubernetesTalosAPIAccess.allowedRoles",
  ],
  [
    "{apiVersion: v1alpha1, kind: KubeTalosAPIAccessConfig, allowedRoles: [os:admin]}",
    "has os:admin in allowedRoles",
  ],
  [
    "{apiVersion: v1alpha1, kind: KubeServiceAccountConfig, issuer: {privateKey: x}}",
    "sets issuer.privateKey",
  ],
  ["{apiVersion: v1alpha1, kind: KubeClusterConfig, clusterName: other}", "is a KubeClusterConfig"],
  ["cluster: {id: other}", "sets cluster.id"],
])("a patch of an Omni machine is refused, as by Omni: %s, which %s", (patch, problem) =>
  expect(omniProblems(patch)).toEqual([expect.stringContaining(problem)]),
);

test.each([
  patchWithRole("os:operator"),
  "{apiVersion: v1alpha1, kind: KubeTalosAPIAccessConfig, allowedRoles: [os:reader]}",
  "{apiVersion: v1alpha1, kind: KubeServiceAccountConfig, issuer: {url: https://example.org}}",
])("a patch of an Omni machine is accepted, as by Omni: %s", (patch) =>
  expect(omniProblems(patch)).toEqual([]),
);
