import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about patches. */
export const patchesMistakes: Mistakes = {
  "patch-format": [
    {
      name: "A JSON patch",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                - op: add
                  path: /machine/sysctls
                  value: { vm.nr_hugepages: "1024" }
      `,
      findings: [
        {
          check: "patch-format",
          field: "machines.talos-gpu.patches[0]",
          says: ["is a JSON patch", "strategic-merge patch"],
        },
      ],
    },
    {
      name: "A patch that is not YAML",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu: { patches: ["machine: { sysctls: "] }
      `,
      findings: [
        { check: "patch-format", field: "machines.talos-gpu.patches[0]", says: ["is not YAML"] },
      ],
    },
    {
      name: "A YAML alias without its anchor",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                machine:
                  sysctls: *ours
      `,
      findings: [
        {
          check: "patch-format",
          field: "machines.talos-gpu.patches[0]",
          says: ["is not YAML: alias *ours has no anchor"],
        },
      ],
    },
    {
      name: "A patch that is not a mapping",
      base: "one-card",
      change: yaml`
        patches: [machine]
      `,
      findings: [
        { check: "patch-format", field: "patches[0]", says: ["is a string, not a mapping"] },
      ],
    },
  ],
  "patch-schema": [
    {
      name: "A document of Talos 1.14 on an older release",
      base: "modern",
      change: yaml`
        patches:
          - |
            machine:
              registries:
                mirrors:
                  docker.io: { endpoints: ["http://10.4.0.5:5000"] }
          - |
            apiVersion: v1alpha1
            kind: KernelModuleConfig
            name: nvidia
      `,
      findings: [
        {
          check: "patch-schema",
          field: "patches[1]",
          says: [
            "is a KernelModuleConfig, which Talos 1.13 does not have",
            "machine.kernel.modules",
          ],
        },
      ],
    },
    {
      name: "A misspelt field of a patch",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                machine:
                  sysctl: { vm.nr_hugepages: "1024" }
      `,
      findings: [
        {
          check: "patch-schema",
          field: "machines.talos-gpu.patches[0]",
          says: ["machine.sysctl is not a field", 'did you mean "machine.sysctls"?'],
        },
      ],
    },
    {
      name: "A misspelt kind of document",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                apiVersion: v1alpha1
                kind: KmsgLogConfg
                name: remote
                url: udp://10.0.0.1:514
      `,
      findings: [
        {
          check: "patch-schema",
          field: "machines.talos-gpu.patches[0]",
          says: ['has the kind "KmsgLogConfg"', 'did you mean "KmsgLogConfig"?'],
        },
      ],
    },
    {
      name: "Two documents with machine in one patch",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                machine:
                  sysctls: { vm.nr_hugepages: "1024" }
                ---
                machine:
                  sysfs: { devices.system.cpu.cpu0.cpufreq.scaling_governor: performance }
      `,
      findings: [
        {
          check: "patch-schema",
          field: "machines.talos-gpu.patches[0]",
          says: ["has two documents with machine or cluster"],
        },
      ],
    },
    {
      name: "A value of another type than its field has",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                machine:
                  kubelet: { defaultRuntimeSeccompProfileEnabled: "true" }
      `,
      findings: [
        {
          check: "patch-schema",
          field: "machines.talos-gpu.patches[0]",
          says: [
            "machine.kubelet.defaultRuntimeSeccompProfileEnabled is not true or false",
            "without quotes",
          ],
        },
      ],
    },
    {
      name: "A patch of the cluster that does not fit the release of one machine",
      base: "one-card",
      change: yaml`
        talosVersion: v1.14.0
        machines:
          old:
            address: 10.9.9.9
            role: worker
            configuration: adopted
            talosVersion: v1.13.9
        patches:
          - |
            apiVersion: v1alpha1
            kind: SysctlConfig
            params: { a: b }
      `,
      findings: [{ check: "patch-schema", field: "patches[0]", says: ["v1.13.9 on old"] }],
    },
  ],
  "patch-document": [
    {
      name: "A document that the provider cannot merge",
      base: "modern",
      change: yaml`
        talosVersion: v1.14.0
        machines: { gpu-1: { runningVersion: v1.13.9 } }
        patches:
          - |
            machine:
              registries:
                mirrors:
                  docker.io: { endpoints: ["http://10.4.0.5:5000"] }
          - |
            apiVersion: v1alpha1
            kind: SysctlConfig
            params: { vm.nr_hugepages: "1024" }
      `,
      findings: [
        {
          check: "patch-document",
          field: "patches[1]",
          says: [
            'the Talos provider of Pulumi merges patches with the code of Talos 1.13, which fails at this document with "not registered"',
          ],
        },
      ],
    },
  ],
  "patch-delete": [
    {
      name: "A patch that deletes, on an adopted machine",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                machine:
                  network:
                    interfaces:
                      - interface: eth0
                        $patch: delete
      `,
      findings: [
        {
          check: "patch-delete",
          field: "machines.talos-gpu.patches[0]",
          says: ["has `$patch: delete`, but talos-gpu is adopted"],
        },
      ],
    },
  ],
  "patch-conflict": [
    {
      name: "A document together with the field that it replaces",
      base: "frank",
      change: yaml`
        machines:
          mini-1:
            patches:
              - |
                machine:
                  time:
                    servers: [ntp.example]
                ---
                apiVersion: v1alpha1
                kind: TimeSyncConfig
                ntp:
                  servers: [other.example]
      `,
      findings: [
        {
          check: "patch-conflict",
          field: "machines.mini-1.patches[0]",
          says: [
            "has a TimeSyncConfig, and a patch of mini-1 also sets machine.time.servers",
            "write this setting only in documents (machine.time.servers becomes ntp.servers of TimeSyncConfig), or leave the TimeSyncConfig out",
          ],
        },
      ],
    },
    {
      name: "A document with a reserved name",
      base: "mirrored",
      change: yaml`
        patches:
          - "{ apiVersion: v1alpha1, kind: CRICustomizationConfig, name: customization, content: '[plugins]' }"
      `,
      findings: [
        {
          check: "patch-conflict",
          field: "patches[0]",
          says: ["has a CRICustomizationConfig with the name customization"],
        },
      ],
    },
  ],
  "patch-identity": [
    {
      name: "A host name that differs from the machine's name",
      base: "aarhus-h100",
      change: yaml`
        machines:
          talos-gpu:
            patches:
              - |
                machine:
                  network: { hostname: h100 }
      `,
      findings: [
        {
          check: "patch-identity",
          field: "machines.talos-gpu.patches[0]",
          says: [
            "sets the host name h100, but the stack names the machine talos-gpu",
            "Talos names the node by its host name, so the update would wait forever for the node",
          ],
        },
      ],
    },
    {
      name: "A patch that makes the worker a control plane",
      base: "one-card",
      change: yaml`
        patches: ["machine: { type: controlplane }"]
      `,
      findings: [
        {
          check: "patch-identity",
          field: "patches[0]",
          says: ["sets machine.type to controlplane, and gpu is a worker"],
        },
      ],
    },
  ],
  "patch-role": [
    {
      name: "A virtual IP of the control planes on a worker",
      base: "velaryon",
      change: yaml`
        patches:
          - |
            machine:
              network:
                interfaces:
                  - interface: eth0
                    vip: { ip: 10.4.0.5 }
      `,
      findings: [
        {
          check: "patch-role",
          field: "patches[0]",
          says: ["sets machine.network.interfaces[].vip, and velaryon is a worker"],
        },
      ],
    },
  ],
  "patch-override": [
    {
      name: "A sysctl in a document of Talos 1.14 and in the field",
      base: "next",
      change: yaml`
        patches:
          - |
            machine: { sysctls: { vm.swappiness: "1" } }
            ---
            apiVersion: v1alpha1
            kind: SysctlConfig
            params: { vm.swappiness: "2" }
      `,
      findings: [
        {
          check: "patch-override",
          field: "patches[0]",
          says: [
            "both set vm.swappiness",
            "Talos silently uses SysctlConfig, and ignores the value in machine.sysctls",
          ],
        },
      ],
    },
  ],
};
