import { yaml } from "../../../support/yaml";
import type { Mistakes } from "./mistake";

/** Stacks with a warning or a note about external releases. */
export const externalRisksMistakes: Mistakes = {
  "external-release": [
    {
      name: "An external release of a known kind only",
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
            "gpu-operator is not this stack's; this stack makes, changes and removes nothing of it; nothing needs to be done",
          ],
        },
        {
          check: "external-namespace",
          field: "external.namespace",
          severity: "warning",
          says: [
            "no file names it, so gpu-operator is assumed; the doctor has to look for the release in the whole cluster; write the namespace, or list under external.files the file",
          ],
        },
        {
          check: "external-values",
          field: "external.values",
          severity: "warning",
          says: [
            "the values of the release are not known; no check can say whether they fit Talos; name its files under external.files",
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
          says: ["in namespace gpu is not this stack's"],
        },
        {
          check: "external-missing",
          field: "external.files",
          severity: "warning",
          says: [
            "ConfigMap gpu-values is not among the files; its content is unknown and not checked; name it here",
          ],
        },
        {
          check: "external-version",
          field: "external.version",
          severity: "warning",
          says: [
            "the release's chart version is unknown; no check can say whether the chart has these values; write it here",
          ],
        },
        {
          check: "external-filled-in",
          field: "external.values.gfd.enabled",
          severity: "note",
          says: [
            "another tool fills it in; its final value is unknown and not checked; check what the tool writes there",
          ],
        },
      ],
    },
  ],
  "char-device-links": [
    {
      name: "An external operator whose validator makes links",
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
            "does not set DISABLE_DEV_CHAR_SYMLINK_CREATION to true; where the validator cannot make links in /dev/char, every pod of the operator waits for it; set it, as Talos' documentation does",
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
            "is not set; the plugin then finds the cards only where nvidia is the machine's default runtime; write `runtimeClassName: nvidia`",
          ],
        },
      ],
    },
  ],
  "sharing-unread": [
    {
      name: "A configuration of sharing that the stack does not hold",
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
            "it is unknown how many units the nodes offer; the plan counts on one per card or more of nvidia.com/gpu, so no check says whether all requests fit; look at what the nodes offer",
          ],
        },
      ],
    },
  ],
};
