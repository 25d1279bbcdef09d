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
            "gpu-operator is not this stack's; nothing of it is made, changed or removed here; nothing needs to be done",
          ],
        },
        {
          check: "external-namespace",
          field: "external.namespace",
          severity: "warning",
          says: [
            "no file says it, so gpu-operator is assumed; the doctor has to look for the release in the whole cluster; write the namespace, or name the file",
          ],
        },
        {
          check: "external-values",
          field: "external.values",
          severity: "warning",
          says: [
            "the values of the release are not known; nothing says whether they fit Talos; name its files under external.files",
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
            "ConfigMap gpu-values is not among the files; what it says is neither known nor judged; name it here",
          ],
        },
        {
          check: "external-version",
          field: "external.version",
          severity: "warning",
          says: [
            "which release of the chart it is is not known; whether it has these values is not judged; write it here",
          ],
        },
        {
          check: "external-filled-in",
          field: "external.values.gfd.enabled",
          severity: "note",
          says: [
            "another tool fills it in; what it comes to is not known here, and not judged; check what the tool writes there",
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
            "is not said; the plugin then finds the cards only where nvidia is the machine's default runtime; write `runtimeClassName: nvidia`",
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
            "how many units the nodes offer is not known here; the plan counts on one per card or more of nvidia.com/gpu, so no check says whether all requests fit; look at what the nodes offer",
          ],
        },
      ],
    },
  ],
};
