import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about external releases. */
export const externalRisksMistakes: Mistakes = {
  "external-release": [
    {
      name: "An external release with no known field but its kind",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: null
        devicePlugin: null
        external: { kind: gpuOperator }
      `,
      findings: [
        {
          check: "external-release",
          field: "external",
          severity: "note",
          says: [
            "another tool manages gpu-operator; this stack creates, changes and removes no object of that release; nothing needs to be done",
          ],
        },
        {
          check: "external-namespace",
          field: "external.namespace",
          severity: "warning",
          says: [
            "no file sets the namespace of the release, so the plan assumes gpu-operator; `talos-gpu doctor` has to search the whole cluster for the release; write the namespace here, or list under external.files the file that sets the namespace (a Flux Kustomization's targetNamespace, a kustomization's namespace)",
          ],
        },
        {
          check: "external-values",
          field: "external.values",
          severity: "warning",
          says: [
            "are unknown; no check can verify that the release fits Talos; list the files of the release under external.files",
          ],
        },
      ],
    },
    {
      name: "An external release of a known namespace, some of whose files are missing",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: null
        devicePlugin: null
        external:
          namespace: gpu
          read:
            kind: devicePlugin
            values: { runtimeClassName: nvidia, gfd: { enabled: "\${GFD}" } }
            missing: [{ kind: ConfigMap, name: gpu-values }]
      `,
      findings: [
        {
          check: "external-release",
          field: "external",
          severity: "note",
          says: ["another tool manages nvidia-device-plugin in namespace gpu"],
        },
        {
          check: "external-missing",
          field: "external.files",
          severity: "warning",
          says: [
            "ConfigMap gpu-values is not among the files; its content is unknown and not checked; add the file that contains this object",
          ],
        },
        {
          check: "external-version",
          field: "external.version",
          severity: "warning",
          says: [
            "the release's chart version is unknown; no check can verify that the chart has these values; write the chart's version here",
          ],
        },
        {
          check: "external-filled-in",
          field: "external.values.gfd.enabled",
          severity: "note",
          says: [
            "has a placeholder that another tool fills in; its final value is unknown and not checked; check the final value yourself",
          ],
        },
      ],
    },
  ],
  "char-device-links": [
    {
      name: "An external operator whose validator creates links",
      base: "one-card",
      change: yaml`
        gpuOperator: null
        devicePlugin: null
        external:
          kind: gpuOperator
          version: v26.3.3
          values:
            driver: { enabled: false }
            toolkit: { enabled: false }
            hostPaths: { driverInstallDir: /usr/local }
      `,
      findings: [
        {
          check: "char-device-links",
          field: "external.values.validator.driver.env",
          severity: "warning",
          says: [
            "does not set DISABLE_DEV_CHAR_SYMLINK_CREATION to true; if the operator's validator cannot create links in /dev/char, the validator never becomes ready, and all other pods of the operator wait for it; set this variable to true, as Talos' documentation does",
          ],
        },
      ],
    },
  ],
  "plugin-runtime": [
    {
      name: "A plugin that is taken over without NVIDIA's runtime",
      base: "rtx5070ti",
      change: yaml`
        gpuOperator: null
        devicePlugin: { version: 0.18.2, takeOver: a, values: {} }
      `,
      findings: [
        {
          check: "plugin-runtime",
          field: "devicePlugin.values.runtimeClassName",
          severity: "warning",
          says: [
            "is not set; without a RuntimeClass the plugin finds the cards only if nvidia is the machine's default runtime; write `runtimeClassName: nvidia`, and create a RuntimeClass of that name with the handler nvidia",
          ],
        },
      ],
    },
  ],
  "sharing-unread": [
    {
      name: "A sharing configuration in a ConfigMap outside of the stack",
      base: "aarhus-h100",
      change: yaml`
        devicePlugin: { version: 0.19.3, values: { config: { name: mine } } }
      `,
      findings: [
        {
          check: "sharing-unread",
          field: "devicePlugin.values.config",
          severity: "note",
          says: [
            "with this configuration it is unknown how many GPUs a node offers; the plan assumes at least one nvidia.com/gpu per card, so no check can verify that all requests fit; look at the nodes' allocatable resources (`kubectl describe node`)",
          ],
        },
      ],
    },
  ],
};
