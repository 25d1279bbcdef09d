import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes in containerd's part. */
export const containerdMistakes: Mistakes = {
  "containerd-part": [
    {
      name: "A containerd part for every machine, and the machine's own",
      base: "frank",
      change: yaml`
        patches:
          - |
            machine:
              files:
                - op: create
                  path: /etc/cri/conf.d/20-customization.part
                  content: |
                    [plugins."io.containerd.cri.v1.runtime"]
                      cdi_spec_dirs = ["/var/cdi/static", "/var/cdi/dynamic"]
      `,
      findings: [
        {
          check: "containerd-part",
          field: "patches[0]",
          says: [
            "writes /etc/cri/conf.d/20-customization.part on every machine",
            "reboots again and again",
            "machines.<name>.containerd",
          ],
        },
      ],
    },
    {
      name: "A second containerd part on one machine",
      base: "frank",
      change: yaml`
        machines:
          gpu-1:
            patches:
              - |
                machine:
                  files:
                    - op: create
                      path: /etc/cri/conf.d/20-customization.part
                      content: |
                        [plugins."io.containerd.cri.v1.runtime".containerd]
                          default_runtime_name = "nvidia"
      `,
      findings: [
        {
          check: "containerd-part",
          field: "machines.gpu-1.patches[0]",
          says: ["writes /etc/cri/conf.d/20-customization.part;", "machines.gpu-1.containerd"],
        },
      ],
    },
    {
      name: "A containerd part for the whole cluster, and a second part of a machine",
      base: "omni",
      change: yaml`
        patches:
          - |
            machine:
              files:
                - path: /etc/cri/conf.d/20-customization.part
                  op: create
                  content: |
                    [plugins."io.containerd.cri.v1.runtime"]
                      cdi_spec_dirs = ["/var/cdi/static"]
      `,
      findings: [
        {
          check: "containerd-part",
          field: "patches[0]",
          says: ["on every machine", "reboots again and again"],
        },
      ],
    },
    {
      name: "A containerd part in a patch on Talos 1.14, which uses only the first of two",
      base: "next",
      change: yaml`
        patches:
          - |
            machine:
              files:
                - { op: create, path: /etc/cri/conf.d/20-customization.part, content: "[debug]" }
      `,
      findings: [
        {
          check: "containerd-part",
          field: "patches[0]",
          says: [
            "this package writes the same file, and Talos ≥ 1.14 silently ignores the second item of machine.files with the same path",
          ],
        },
      ],
    },
  ],
  "containerd-version": [
    {
      name: "A containerd part that sets the version",
      base: "frank",
      change: yaml`
        machines:
          gpu-1:
            containerd:
              extra: |
                version = 2
      `,
      findings: [
        {
          check: "containerd-version",
          field: "machines.gpu-1.containerd.extra",
          says: ["sets `version` in containerd's configuration", "leave the line out"],
        },
      ],
    },
    {
      name: "A CRICustomizationConfig that sets the version",
      base: "next",
      change: yaml`
        patches:
          - "{ apiVersion: v1alpha1, kind: CRICustomizationConfig, name: zz, content: 'version = 2' }"
      `,
      findings: [
        {
          check: "containerd-version",
          field: "patches[0]",
          says: ["sets `version` in containerd's configuration"],
        },
      ],
    },
  ],
  "containerd-toml": [
    {
      name: "A containerd part that is not TOML",
      base: "frank",
      change: yaml`
        machines:
          gpu-1:
            containerd:
              extra: |
                [plugins
      `,
      findings: [
        {
          check: "containerd-toml",
          field: "machines.gpu-1.containerd.extra",
          says: ["is not TOML"],
        },
      ],
    },
    {
      name: "An option and a line of extra that disagree",
      base: "frank",
      change: yaml`
        machines:
          gpu-1:
            containerd:
              extra: |
                [plugins."io.containerd.cri.v1.runtime".containerd]
                default_runtime_name = "runc"
      `,
      findings: [
        {
          check: "containerd-toml",
          field: "machines.gpu-1.containerd.extra",
          says: [
            "sets plugins.io.containerd.cri.v1.runtime.containerd.default_runtime_name, but another field of `containerd` sets a different value",
            "set the key in only one of the two fields",
          ],
        },
      ],
    },
    {
      name: "A plugin under the name that it had in containerd 1",
      base: "frank",
      change: yaml`
        machines:
          mini-1:
            containerd:
              extra: |
                [plugins."io.containerd.grpc.v1.cri"]
                enable_cdi = true
      `,
      findings: [
        {
          check: "containerd-toml",
          field: "machines.mini-1.containerd.extra",
          says: [
            "the name that this plugin had in containerd 1",
            "containerd 2 (Talos ≥ 1.8) ignores it",
          ],
        },
      ],
    },
  ],
  "default-runtime": [
    {
      name: "NVIDIA's default runtime on a machine without a card",
      base: "frank",
      change: yaml`
        machines:
          mini-1: { containerd: { nvidiaDefaultRuntime: true } }
      `,
      findings: [
        {
          check: "default-runtime",
          field: "machines.mini-1.containerd.nvidiaDefaultRuntime",
          says: ["machine without a GPU", "no pod of the machine starts"],
        },
      ],
    },
    {
      name: "NVIDIA's default runtime on Talos 1.13",
      base: "modern",
      change: yaml`
        machines:
          gpu-2: { containerd: { nvidiaDefaultRuntime: true } }
      `,
      findings: [
        {
          check: "default-runtime",
          field: "machines.gpu-2.containerd.nvidiaDefaultRuntime",
          says: ["default runtime on Talos ≥ 1.13", "pods that request none"],
        },
      ],
    },
    {
      name: "NVIDIA's default runtime with a device plugin that hands out cards by a variable",
      base: "plugin-on-1.13",
      change: yaml`
        machines:
          gpu-1: { containerd: { nvidiaDefaultRuntime: true } }
        devicePlugin: { values: { deviceListStrategy: envvar } }
      `,
      findings: [
        {
          check: "default-runtime",
          field: "machines.gpu-1.containerd.nvidiaDefaultRuntime",
          says: ["runtimeClassName: nvidia", "deviceListStrategy: cdi-cri"],
        },
      ],
    },
    {
      name: "NVIDIA's default runtime with an operator without CDI",
      base: "cdi-off-on-1.13",
      change: yaml`
        machines:
          gpu-1: { containerd: { nvidiaDefaultRuntime: true } }
      `,
      findings: [
        {
          check: "default-runtime",
          field: "machines.gpu-1.containerd.nvidiaDefaultRuntime",
          says: ["makes nvidia the default runtime on Talos ≥ 1.13"],
        },
      ],
    },
  ],
  "nvidia-handler": [
    {
      name: "NVIDIA's runtime and no NRI in containerd's configuration of Talos 1.15",
      base: "next",
      change: yaml`
        machines:
          gpu:
            containerd: { nvidiaDefaultRuntime: true }
            patches:
              - |
                apiVersion: v1alpha1
                kind: CRICustomizationConfig
                name: disable-nri
                content: |
                  [plugins."io.containerd.nri.v1.nri"]
                    disable = true
      `,
      findings: [
        {
          check: "nvidia-handler",
          field: "machines.gpu.containerd",
          says: ["the default runtime of containerd", "the kubelet does not start"],
        },
        {
          check: "nvidia-handler",
          field: "machines.gpu.patches[0]",
          says: ["disables containerd's NRI", "Talos ≥ 1.14 enables NRI"],
        },
      ],
    },
  ],
};
