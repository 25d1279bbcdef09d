import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes in the content of a patch. */
export const patchContentsMistakes: Mistakes = {
  "patch-secret": [
    {
      name: "A secret in a patch",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                machine:
                  registries:
                    config:
                      registry.example.com:
                        auth: { username: me, password: not-a-real-one }
      `,
      findings: [
        {
          check: "patch-secret",
          field: "machines.talos-gpu.patches[0]",
          says: [
            "contains a secret (machine.registries.config.registry.example.com.auth.password)",
            "plain text",
          ],
        },
      ],
    },
    {
      name: "The cluster's join token in a patch",
      base: "rtx5070ti",
      change: yaml`
        patches:
          - |
            machine:
              token: abcdef.0123456789abcdef
      `,
      findings: [
        {
          check: "patch-secret",
          field: "patches[0]",
          says: ["contains a secret (machine.token)", "talos-gpu:machineSecrets"],
        },
      ],
    },
    {
      name: "A registry's password in containerd's part",
      base: "one-card",
      change: yaml`
        machines:
          gpu:
            containerd:
              extra: |-
                [registry.configs.a.auth]
                password = 'hunter2hunter2'
      `,
      findings: [
        {
          check: "patch-secret",
          field: "machines.gpu.containerd.extra",
          says: ["contains a secret (registry.configs.a.auth.password)"],
        },
        {
          check: "containerd-toml",
          field: "machines.gpu.containerd.extra",
          says: ["registry is not a containerd key"],
        },
      ],
    },
  ],
  "patch-sysctl": [
    {
      name: "A patch that sets a sysctl to a value with which the driver does not work",
      base: "rtx5070ti",
      change: yaml`
        talosVersion: v1.11.6
        kubernetesVersion: v1.34.0
        patches:
          - |
            machine:
              sysctls:
                net.core.bpf_jit_harden: "2"
      `,
      findings: [
        {
          check: "patch-sysctl",
          field: "patches[0]",
          says: ["sets net.core.bpf_jit_harden to 2, but k8s-worker4 needs 1"],
        },
      ],
    },
  ],
  "patch-node-labels": [
    {
      name: "A label that a worker may not set on itself",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon:
            patches:
              - |
                machine:
                  nodeLabels:
                    node-role.kubernetes.io/gpu: "true"
      `,
      findings: [
        {
          check: "patch-node-labels",
          field: "machines.velaryon.patches[0]",
          says: [
            "sets node-role.kubernetes.io/gpu on a worker",
            "Kubernetes forbids a worker to set this label on itself, and refuses all other labels that the worker sets in the same request",
          ],
        },
      ],
    },
    {
      name: "A label that the kubelet refuses",
      base: "one-card",
      change: yaml`
        patches:
          - "machine: { kubelet: { extraArgs: { node-labels: kubernetes.io/role=gpu } } }"
      `,
      findings: [
        {
          check: "patch-node-labels",
          field: "patches[0]",
          says: ['node-labels has "kubernetes.io/role=gpu", which the kubelet refuses'],
        },
      ],
    },
  ],
  "patch-node-taints": [
    {
      name: "Taints of a worker in its machine configuration",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon:
            patches:
              - |
                machine:
                  nodeTaints:
                    gpu: "true:NoSchedule"
      `,
      findings: [
        {
          check: "patch-node-taints",
          field: "machines.velaryon.patches[0]",
          says: [
            "sets taints on workers (velaryon)",
            "Kubernetes forbids a worker to change its own taints, and refuses all labels that the worker sets in the same request",
            "machines.<name>.taints",
          ],
        },
      ],
    },
  ],
  "machine-file-once": [
    {
      name: "One file in two patches",
      base: "modern",
      change: yaml`
        patches:
          - |
            machine:
              registries:
                mirrors:
                  docker.io: { endpoints: ["http://10.4.0.5:5000"] }
          - |
            machine:
              files:
                - op: create
                  path: /var/lib/models.conf
                  permissions: 0o644
                  content: there
      `,
      findings: [
        {
          check: "machine-file-once",
          field: "machines.gpu-1.patches[0]",
          says: [
            "/var/lib/models.conf is written 2 times",
            "patches append items to machine.files: for some paths a second item keeps the machine from booting, and for other paths Talos does not define which item wins",
          ],
        },
      ],
    },
  ],
  "machine-file-create": [
    {
      name: "A file outside /var, as a guide for the NVIDIA runtime writes it",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                machine:
                  files:
                    - op: create
                      path: /etc/nvidia-container-runtime/config.toml
                      permissions: 0o644
                      content: |
                        [nvidia-container-cli]
                        no-cgroups = true
      `,
      findings: [
        {
          check: "machine-file-create",
          field: "machines.talos-gpu.patches[0]",
          says: [
            "op: create for /etc/nvidia-container-runtime/config.toml",
            "create operation not allowed outside of /var",
            "leave it out: the toolkit's extension has its own configuration, and Talos does not need the setting `no-cgroups`",
          ],
        },
      ],
    },
    {
      name: "A file operation that Talos does not know",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                machine:
                  files:
                    - op: write
                      path: /var/lib/x
                      content: x
      `,
      findings: [
        {
          check: "machine-file-create",
          field: "machines.talos-gpu.patches[0]",
          says: ['"write" is not an operation', "unknown operation for file"],
        },
      ],
    },
    {
      name: "A file outside /var in a patch of the cluster",
      base: "one-card",
      change: yaml`
        patches:
          - "machine: { files: [{ op: create, path: /etc/motd, permissions: 0o644, content: hi }] }"
      `,
      findings: [
        {
          check: "machine-file-create",
          field: "patches[0]",
          says: ["op: create for /etc/motd, which is outside /var"],
        },
      ],
    },
  ],
  "install-extensions": [
    {
      name: "Extensions under machine.install, which Talos no longer reads",
      base: "rtx3090-timeslicing",
      change: yaml`
        machines:
          gpu-a:
            patches:
              - |
                machine:
                  install:
                    extensions:
                      - image: ghcr.io/siderolabs/nvidia-container-toolkit:535.154.05-v1.14.6
                      - image: ghcr.io/siderolabs/nonfree-kmod-nvidia:535.154.05-v1.7.6
      `,
      findings: [
        {
          check: "install-extensions",
          field: "machines.gpu-a.patches[0]",
          says: [
            "machine.install.extensions has no effect on Talos v1.10.9",
            "silently ignores it",
          ],
        },
      ],
    },
  ],
  "install-image": [
    {
      name: "An installer image in a patch",
      base: "velaryon",
      change: yaml`
        machines:
          velaryon:
            patches:
              - |
                machine:
                  install:
                    image: ghcr.io/siderolabs/installer:v1.11.1
      `,
      findings: [
        {
          check: "install-image",
          field: "machines.velaryon.patches[0]",
          says: [
            "sets machine.install.image",
            "this package sets the same field and overrides your value",
          ],
        },
      ],
    },
    {
      name: "An installer image in a patch of an Omni machine",
      base: "omni",
      change: yaml`
        machines:
          gpu-1:
            patches:
              - |
                machine:
                  install:
                    image: ghcr.io/siderolabs/installer:v1.12.6
      `,
      findings: [
        {
          check: "install-image",
          field: "machines.gpu-1.patches[0]",
          says: ["sets machine.install.image"],
        },
      ],
    },
  ],
  "omni-patch": [
    {
      name: "A field that Omni refuses in every patch",
      base: "omni",
      change: yaml`
        machines:
          gpu-1:
            patches:
              - |
                machine:
                  install:
                    disk: /dev/sda
      `,
      findings: [
        {
          check: "omni-patch",
          field: "machines.gpu-1.patches[0]",
          says: ["sets machine.install.disk", "refuses"],
        },
      ],
    },
    {
      name: "A document that Omni refuses in every patch",
      base: "omni",
      change: yaml`
        machines:
          gpu-1:
            patches:
              - |
                apiVersion: v1alpha1
                kind: KubeClusterConfig
                clusterName: other
      `,
      findings: [
        {
          check: "omni-patch",
          field: "machines.gpu-1.patches[0]",
          says: ["is a KubeClusterConfig", "refuses"],
        },
        { check: "patch-schema", field: "machines.gpu-1.patches[0]", says: ["KubeClusterConfig"] },
      ],
    },
  ],
  "patch-delete": [
    {
      name: "A file that a patch deletes from machine.files",
      base: "one-card",
      change: yaml`
        machines:
          gpu:
            patches:
              - |
                machine: {files: [{path: /etc/cri/conf.d/20-customization.part, $patch: delete}]}
      `,
      findings: [
        {
          check: "patch-delete",
          field: "machines.gpu.patches[0]",
          says: [
            "has `$patch: delete`, but gpu is adopted",
            "delete the part with the tool that owns the configuration",
          ],
        },
      ],
    },
  ],
  "extension-name": [
    {
      name: "A fabric manager without a branch",
      base: "one-card",
      change: yaml`
        machines:
          gpu: { extensions: [siderolabs/nvidia-fabricmanager] }
      `,
      findings: [
        {
          check: "extension-name",
          field: "machines.gpu.extensions[0]",
          says: ["nvidia-fabric-manager-lts, which no Talos version has"],
        },
      ],
    },
  ],
};
