import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Mistakes about the device plugin. */
export const pluginMistakes: Mistakes = {
  "plugin-paths": [
    {
      name: "The standalone plugin on Talos 1.13 with the operator's driver root",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin: { values: { nvidiaDriverRoot: /usr/local } }
      `,
      findings: [
        {
          check: "plugin-paths",
          field: "devicePlugin.values.nvidiaDriverRoot",
          says: [
            "is /usr/local, but deviceListStrategy selects cdi-cri",
            "/usr/local/dev/nvidia-uvm",
            'write "/"',
          ],
        },
      ],
    },
    {
      name: "Library paths of Talos 1.12 on Talos 1.13",
      base: "modern",
      change: yaml`
        gpuOperator:
          values:
            devicePlugin:
              env: [{ name: LD_LIBRARY_PATH, value: /usr/local/glibc/usr/lib }]
      `,
      findings: [
        {
          check: "plugin-paths",
          field: "gpuOperator.values.devicePlugin.env",
          says: ["LD_LIBRARY_PATH contains a path of glibc"],
        },
      ],
    },
  ],
  "device-list-strategy": [
    {
      name: "A misspelt device list strategy",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator:
          values:
            devicePlugin:
              env: [{ name: DEVICE_LIST_STRATEGY, value: envvars }]
      `,
      findings: [
        {
          check: "device-list-strategy",
          field: "gpuOperator.values.devicePlugin.env",
          says: ['"envvars" is not a device list strategy', 'did you mean "envvar"?'],
        },
      ],
    },
    {
      name: "A CDI strategy on Talos 1.11",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin: { values: { deviceListStrategy: cdi-cri } }
      `,
      findings: [
        {
          check: "device-list-strategy",
          field: "devicePlugin.values.deviceListStrategy",
          says: ["cdi-cri does not work on Talos ≤ 1.12"],
        },
      ],
    },
    {
      name: "Strategies as a list, which the chart cannot read",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin:
          values: { deviceListStrategy: [envvar] }
      `,
      findings: [
        {
          check: "device-list-strategy",
          field: "devicePlugin.values.deviceListStrategy",
          says: ["must be a string", "template fails"],
        },
      ],
    },
    {
      name: "A strategy that only a newer plugin has",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin: { version: 0.14.5 }
      `,
      findings: [
        {
          check: "device-list-strategy",
          field: "devicePlugin.values.deviceListStrategy",
          says: ["the device plugin 0.14.5 does not support cdi-cri"],
        },
      ],
    },
    {
      name: "Two strategies for a plugin that accepts one",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin:
          version: 0.13.0
          values: { deviceListStrategy: "envvar,volume-mounts" }
      `,
      findings: [
        {
          check: "device-list-strategy",
          field: "devicePlugin.values.deviceListStrategy",
          says: [
            "the device plugin 0.13.0 does not support several strategies at once",
            "use the plugin 0.14.0 or newer, or leave this value out",
          ],
        },
      ],
    },
  ],
  "plugin-config": [
    {
      name: "A device plugin configuration of an unknown version",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin:
          values:
            config:
              map:
                default: |
                  version: v2
      `,
      findings: [
        {
          check: "plugin-config",
          field: "devicePlugin.values.config.map.default",
          says: ['version "v2" is not v1'],
        },
      ],
    },
    {
      name: "A device plugin configuration that is a mapping instead of text",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin:
          values:
            config:
              map: { default: { version: v1 } }
      `,
      findings: [
        {
          check: "plugin-config",
          field: "devicePlugin.values.config.map.default",
          says: ["is not a string", "is not a string"],
        },
      ],
    },
    {
      name: "Device plugin configurations without the default one",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin:
          values:
            config: { map: { a: "version: v1" }, default: b, name: c }
      `,
      findings: [
        {
          check: "plugin-config",
          field: "devicePlugin.values.config.name",
          says: ["is set together with map"],
        },
        {
          check: "plugin-config",
          field: "devicePlugin.values.config.default",
          says: ['names "b", which is not a configuration (known: a)'],
        },
      ],
    },
    {
      name: "A device plugin configuration with a number as its name",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin:
          values:
            config: { map: { "1": "version: v1" }, default: "1" }
      `,
      findings: [
        {
          check: "plugin-config",
          field: "devicePlugin.values.config.default",
          says: ['is "1", which YAML does not read as a string'],
        },
      ],
    },
    {
      name: "A device plugin configuration with one replica, and one without replicas",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin:
          values:
            config:
              map:
                one: "{ version: v1, sharing: { timeSlicing: { resources: [{ name: nvidia.com/gpu, replicas: 1 }] } } }"
                none: "{ version: v1, sharing: { timeSlicing: { resources: [] } } }"
      `,
      findings: [
        {
          check: "plugin-config",
          field: "devicePlugin.values.config.map.one",
          says: [
            "sharing.timeSlicing.resources[0].replicas 1 is less than 2",
            "write the number of pods that share a card, 2 or more",
          ],
        },
        {
          check: "plugin-config",
          field: "devicePlugin.values.config.map.none",
          says: ["sharing.timeSlicing.resources is empty", "name a resource"],
        },
      ],
    },
  ],
  "plugin-toolkit": [
    {
      name: "The device plugin alone on Talos 1.15, with settings of the NVIDIA runtime",
      base: "aarhus-h100",
      change: yaml`
        talosVersion: v1.15.0
        machines: { talos-gpu: { runningVersion: null } }
        devicePlugin: { values: { deviceListStrategy: envvar, runtimeClassName: nvidia } }
      `,
      findings: [
        {
          check: "plugin-toolkit",
          field: "devicePlugin",
          says: ["which has no container toolkit", "devicePlugin.values.cdi.nvidiaHookPath"],
        },
        {
          check: "device-list-strategy",
          field: "devicePlugin.values.deviceListStrategy",
          says: ["envvar does not work on Talos ≥ 1.15"],
        },
        {
          check: "chart-values",
          field: "devicePlugin.values.runtimeClassName",
          says: ["names a RuntimeClass on Talos v1.15.0"],
        },
      ],
    },
  ],
  "chart-values": [
    {
      name: "A driver root that is not text",
      base: "plugin-on-1.13",
      change: yaml`
        devicePlugin: { values: { nvidiaDriverRoot: 5 } }
      `,
      findings: [
        {
          check: "chart-values",
          field: "devicePlugin.values.nvidiaDriverRoot",
          says: ["must be an absolute path"],
        },
        {
          check: "plugin-paths",
          field: "devicePlugin.values.nvidiaDriverRoot",
          says: ["is 5, but deviceListStrategy selects cdi-cri"],
        },
      ],
    },
  ],
};
