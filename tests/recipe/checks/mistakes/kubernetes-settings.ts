import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about settings of Kubernetes' components. */
export const kubernetesSettingsMistakes: Mistakes = {
  "kubernetes-removed": [
    {
      name: "A feature gate and an admission plugin that the API server no longer has",
      base: "modern",
      change: yaml`
        patches:
          - |
            cluster:
              apiServer:
                extraArgs:
                  feature-gates: ValidatingAdmissionPolicy=true,GangScheduling=true
                  enable-admission-plugins: [NodeRestriction, SecurityContextDeny]
      `,
      findings: [
        {
          check: "kubernetes-removed",
          field: "patches[0]",
          says: [
            "sets the feature gate ValidatingAdmissionPolicy, which Kubernetes 1.32 removed from kube-apiserver",
            "kube-apiserver v1.36.0 exits at its start",
          ],
        },
        {
          check: "kubernetes-removed",
          field: "patches[0]",
          says: [
            "sets the admission plugin SecurityContextDeny, which Kubernetes 1.30 removed from kube-apiserver",
          ],
        },
      ],
    },
    {
      name: "A flag that the kubelet no longer has, and a feature gate in its configuration",
      base: "modern",
      change: yaml`
        machines:
          gpu-2:
            patches:
              - |
                machine:
                  kubelet:
                    extraArgs: { pod-infra-container-image: "registry.k8s.io/pause:3.10" }
                    extraConfig: { featureGates: { CPUManager: true } }
      `,
      findings: [
        {
          check: "kubernetes-removed",
          field: "machines.gpu-2.patches[0]",
          says: [
            "sets the flag --pod-infra-container-image, which Kubernetes 1.35 removed from kubelet",
          ],
        },
        {
          check: "kubernetes-removed",
          field: "machines.gpu-2.patches[0]",
          says: ["sets the feature gate CPUManager, which Kubernetes 1.33 removed from kubelet"],
        },
      ],
    },
    {
      name: "A flag of the scheduler in a document of Talos 1.14",
      base: "modern",
      change: yaml`
        talosVersion: v1.14.1
        machines:
          cp-1:
            patches:
              - |
                apiVersion: v1alpha1
                kind: KubeSchedulerConfig
                extraArgs: { feature-gates: [AppArmor=true] }
          gpu-1: { runningVersion: null }
      `,
      findings: [
        {
          check: "kubernetes-removed",
          field: "machines.cp-1.patches[0]",
          says: [
            "sets the feature gate AppArmor, which Kubernetes 1.33 removed from kube-scheduler",
          ],
        },
        // The Talos provider does not support this document yet.
        {
          check: "patch-document",
          field: "machines.cp-1.patches[0]",
          says: ["KubeSchedulerConfig"],
        },
      ],
    },
  ],
};
