import { stringify } from "yaml";
import { mergeConfiguration, unmergeConfiguration } from "../../../components/recipe";
import { wantedOf } from "../../../components/recipe/merge/wanted";
import { contentOf } from "./content";

type Documents = string | object[];

/**
 * A configuration and its result after a merge. Unmerging restores the configuration, and merging again changes
 * nothing.
 */
interface Merge {
  name: string;
  /** The machine's configuration, as documents or as text. */
  before: Documents;
  /** The stack's patch. */
  patch: Documents;
  /** The configuration afterwards. Default: it is unchanged. */
  after?: Documents;
  /** Set if Talos gives the same result when it applies the patches in order. */
  equalsTalosPatch?: true;
  /** Patterns of conflicts by field. The configuration is then unchanged. Default: none. */
  conflicts?: Record<string, RegExp>;
}

const textOf = (documents: Documents): string =>
  typeof documents === "string"
    ? documents
    : documents.map((document) => stringify(document)).join("---\n");

const merges: Merge[] = [
  // Talos replaces these lists (`merge:"replace"`, Args.Merge, ImageVerificationRules.Merge).
  {
    name: "pod networks of a patch replace those of KubeNetworkConfig",
    before: [
      {
        kind: "KubeNetworkConfig",
        podSubnets: ["10.244.0.0/16"],
        serviceSubnets: ["10.96.0.0/12"],
        dnsDomain: "a.b",
      },
    ],
    patch: [{ kind: "KubeNetworkConfig", podSubnets: ["10.1.0.0/16"] }],
    after: [
      {
        kind: "KubeNetworkConfig",
        podSubnets: ["10.1.0.0/16"],
        serviceSubnets: ["10.96.0.0/12"],
        dnsDomain: "a.b",
      },
    ],
    equalsTalosPatch: true,
  },
  {
    name: "an audit policy of a patch replaces that of KubeAuditPolicyConfig",
    before: [
      {
        kind: "KubeAuditPolicyConfig",
        configuration: { rules: [{ level: "Metadata" }], omitStages: ["RequestReceived"] },
      },
    ],
    patch: [{ kind: "KubeAuditPolicyConfig", configuration: { rules: [{ level: "None" }] } }],
    after: [{ kind: "KubeAuditPolicyConfig", configuration: { rules: [{ level: "None" }] } }],
    equalsTalosPatch: true,
  },
  {
    name: "a patch replaces the configuration of KubeAuthenticationConfig",
    before: [
      {
        kind: "KubeAuthenticationConfig",
        configuration: { rules: [{ level: "Metadata" }], omitStages: ["RequestReceived"] },
      },
    ],
    patch: [{ kind: "KubeAuthenticationConfig", configuration: { rules: [{ level: "None" }] } }],
    after: [{ kind: "KubeAuthenticationConfig", configuration: { rules: [{ level: "None" }] } }],
    equalsTalosPatch: true,
  },
  {
    name: "a patch replaces the configuration of KubeCredentialProviderConfig",
    before: [
      {
        kind: "KubeCredentialProviderConfig",
        configuration: { rules: [{ level: "Metadata" }], omitStages: ["RequestReceived"] },
      },
    ],
    patch: [
      { kind: "KubeCredentialProviderConfig", configuration: { rules: [{ level: "None" }] } },
    ],
    after: [
      { kind: "KubeCredentialProviderConfig", configuration: { rules: [{ level: "None" }] } },
    ],
    equalsTalosPatch: true,
  },
  {
    name: "a static pod of a patch replaces the pod of the same name",
    before: [
      {
        kind: "KubeStaticPodConfig",
        name: "nginx",
        pod: { metadata: { name: "a" }, spec: { hostNetwork: true } },
      },
    ],
    patch: [{ kind: "KubeStaticPodConfig", name: "nginx", pod: { metadata: { name: "b" } } }],
    after: [{ kind: "KubeStaticPodConfig", name: "nginx", pod: { metadata: { name: "b" } } }],
    equalsTalosPatch: true,
  },
  {
    name: "a patch replaces the overrides of CRIBaseRuntimeSpecConfig",
    before: [
      { kind: "CRIBaseRuntimeSpecConfig", overrides: { process: { rlimits: [{ hard: 1 }] } } },
    ],
    patch: [{ kind: "CRIBaseRuntimeSpecConfig", overrides: { process: { oomScoreAdj: 1 } } }],
    after: [{ kind: "CRIBaseRuntimeSpecConfig", overrides: { process: { oomScoreAdj: 1 } } }],
    equalsTalosPatch: true,
  },
  {
    name: "lists of a patch replace those of BGPInstanceConfig",
    before: [
      {
        kind: "BGPInstanceConfig",
        name: "f",
        advertise: ["a"],
        importRoutes: [{ bgpInstance: "x" }],
        neighbors: [{ link: "a" }],
      },
    ],
    patch: [
      {
        kind: "BGPInstanceConfig",
        name: "f",
        advertise: ["b"],
        importRoutes: [{ bgpInstance: "y" }],
        neighbors: [{ link: "b" }],
      },
    ],
    after: [
      {
        kind: "BGPInstanceConfig",
        name: "f",
        advertise: ["b"],
        importRoutes: [{ bgpInstance: "y" }],
        neighbors: [{ link: "b" }],
      },
    ],
    equalsTalosPatch: true,
  },
  {
    name: "a rule of image verification replaces the rule of the same image, at its position",
    before: [
      {
        kind: "ImageVerificationConfig",
        rules: [
          { image: "a/*", keyless: { issuer: "i" } },
          { image: "*", skip: true },
        ],
      },
    ],
    patch: [
      {
        kind: "ImageVerificationConfig",
        rules: [
          { image: "b/*", skip: true },
          { image: "a/*", skip: true },
        ],
      },
    ],
    after: [
      {
        kind: "ImageVerificationConfig",
        rules: [
          { image: "a/*", skip: true },
          { image: "*", skip: true },
          { image: "b/*", skip: true },
        ],
      },
    ],
    equalsTalosPatch: true,
  },
  {
    name: "a list in a patch replaces the list of a kubelet argument",
    before: [{ machine: { kubelet: { extraArgs: { a: ["x", "y"] } } } }],
    patch: [{ machine: { kubelet: { extraArgs: { a: ["z"] } } } }],
    after: [{ machine: { kubelet: { extraArgs: { a: ["z"] } } } }],
    equalsTalosPatch: true,
  },
  {
    name: "a list in a patch replaces the text of a kubelet argument",
    before: [{ machine: { kubelet: { extraArgs: { a: "x" } } } }],
    patch: [{ machine: { kubelet: { extraArgs: { a: ["y", "z"] } } } }],
    after: [{ machine: { kubelet: { extraArgs: { a: ["y", "z"] } } } }],
    equalsTalosPatch: true,
  },
  {
    name: "a text in a patch replaces the list of a kubelet argument",
    before: [{ machine: { kubelet: { extraArgs: { a: ["x", "y"] } } } }],
    patch: [{ machine: { kubelet: { extraArgs: { a: "z" } } } }],
    after: [{ machine: { kubelet: { extraArgs: { a: "z" } } } }],
    equalsTalosPatch: true,
  },
  {
    name: "a list in a patch replaces the list of an argument in KubeletConfig",
    before: [{ kind: "KubeletConfig", extraArgs: { a: ["x"], b: "c" } }],
    patch: [{ kind: "KubeletConfig", extraArgs: { a: ["y"] } }],
    after: [{ kind: "KubeletConfig", extraArgs: { a: ["y"], b: "c" } }],
    equalsTalosPatch: true,
  },
  {
    name: "lists of the same names are joined in a document of another kind",
    before: [{ kind: "OtherConfig", ingress: ["a"], rules: [{ image: "x" }] }],
    patch: [{ kind: "OtherConfig", ingress: ["b"], rules: [{ image: "x", more: 1 }] }],
    after: [
      {
        kind: "OtherConfig",
        ingress: ["a", "b"],
        rules: [{ image: "x" }, { image: "x", more: 1 }],
      },
    ],
  },
  // Talos 1.14 generates these documents, and refuses the same fields under `machine` (v1.14.0-rc.1,
  // V1Alpha1ConflictValidate).
  {
    name: "a setting is merged into the document that the configuration already has for it",
    before: [
      { machine: { type: "worker" } },
      { kind: "KubeletConfig", image: "ghcr.io/siderolabs/kubelet:v1.36.0" },
      { kind: "KubeNodeConfig", labels: { a: "b" } },
      { kind: "UnattendedInstallConfig", installer: { image: "old" } },
    ],
    patch: [
      {
        machine: {
          install: { image: "new" },
          kubelet: {
            extraConfig: {
              registerWithTaints: [{ key: "gpu", value: "true", effect: "NoSchedule" }],
            },
          },
          nodeTaints: { gpu: "true:NoSchedule" },
          sysctls: { "vm.nr_hugepages": "1" },
        },
      },
    ],
    after: [
      { machine: { type: "worker", sysctls: { "vm.nr_hugepages": "1" } } },
      {
        kind: "KubeletConfig",
        image: "ghcr.io/siderolabs/kubelet:v1.36.0",
        config: { registerWithTaints: [{ key: "gpu", value: "true", effect: "NoSchedule" }] },
      },
      { kind: "KubeNodeConfig", labels: { a: "b" }, taints: { gpu: "true:NoSchedule" } },
      { kind: "UnattendedInstallConfig", installer: { image: "new" } },
    ],
  },
  // With this document, the list silently has no effect (siderolabs/docs v1.14, upgrading Talos).
  {
    name: "a module that has a KernelModuleConfig gets its parameters in this document",
    before: [
      { machine: { type: "worker" } },
      { kind: "KernelModuleConfig", name: "nvidia", parameters: ["a=1"] },
      { kind: "KernelModuleConfig", name: "nvidia_uvm" },
    ],
    patch: [
      {
        machine: {
          kernel: {
            modules: [
              { name: "nvidia", parameters: ["b=2"] },
              { name: "nvidia_uvm" },
              { name: "nvidia_drm" },
            ],
          },
        },
      },
    ],
    after: [
      { machine: { type: "worker", kernel: { modules: [{ name: "nvidia_drm" }] } } },
      { kind: "KernelModuleConfig", name: "nvidia", parameters: ["a=1", "b=2"] },
      { kind: "KernelModuleConfig", name: "nvidia_uvm" },
    ],
  },
  // Spellings
  {
    name: "a number equals the text that Talos reads it as",
    before: "machine:\n  sysctls:\n    net.core.bpf_jit_harden: 1\n",
    patch: [{ machine: { sysctls: { "net.core.bpf_jit_harden": "1" } } }],
  },
  {
    name: "a module that another tool gave parameters stays as it is",
    before:
      "machine:\n  kernel:\n    modules:\n      - name: nvidia\n        parameters: " +
      "[NVreg_EnableGpuFirmware=1]\n",
    patch: [{ machine: { kernel: { modules: [{ name: "nvidia" }] } } }],
  },
  {
    name: "an empty field gets the patch's value",
    before: "machine:\n  files: null\n  sysctls: {}\n",
    patch: [
      {
        machine: {
          files: [{ op: "create", path: "/var/a", permissions: 420, content: "a" }],
          sysctls: { a: "b" },
        },
      },
    ],
    after: [
      {
        machine: {
          files: [{ op: "create", path: "/var/a", permissions: 420, content: "a" }],
          sysctls: { a: "b" },
        },
      },
    ],
  },
  {
    name: "a comment stays next to a value that is replaced",
    before:
      "machine:\n    install:\n        image: old:1 # for the installer\n    registries: {}\n",
    patch:
      "machine:\n  install: { image: new:1 }\n  registries: { mirrors: { a: { endpoints: [b] } } }\n",
    after:
      "machine:\n    install:\n        image: new:1 # for the installer\n    registries:\n        " +
      "mirrors:\n            a:\n                endpoints:\n                    - b\n",
  },
  {
    name: "permissions stay octal",
    before: "machine: {}\n",
    patch:
      "machine:\n  files:\n    - op: create\n      path: /var/a\n      permissions: 0o644\n      " +
      "content: a\n",
    after:
      "machine:\n    files:\n        - op: create\n          path: /var/a\n          permissions: " +
      "0o644\n          content: a\n",
  },
  {
    name: "an empty configuration gets the patch's settings",
    before: "",
    patch: [{ machine: { sysctls: { a: "b" } } }],
    after: [{ machine: { sysctls: { a: "b" } } }],
  },
  // Conflicts
  {
    name: "another tool's file with the same path and other content is a conflict",
    before: [
      {
        machine: {
          files: [
            {
              op: "create",
              path: "/etc/cri/conf.d/20-customization.part",
              content: "[a]\nx = 1\n",
            },
          ],
        },
      },
    ],
    patch: [
      {
        machine: {
          files: [
            {
              op: "create",
              path: "/etc/cri/conf.d/20-customization.part",
              content: "[b]\ny = 2\n",
            },
          ],
        },
      },
    ],
    conflicts: {
      "machine.files[/etc/cri/conf.d/20-customization.part]":
        /^adopted-conflict: .*other content.*containerd\.extra/,
    },
  },
  {
    name: "another tool's file with the same path and content stays",
    before: [
      {
        machine: {
          files: [
            {
              op: "create",
              path: "/etc/cri/conf.d/20-customization.part",
              content: "[a]\nx = 1\n",
            },
          ],
        },
      },
    ],
    patch: [
      {
        machine: {
          files: [
            {
              op: "create",
              path: "/etc/cri/conf.d/20-customization.part",
              content: "[a]\nx = 1\n",
            },
          ],
        },
      },
    ],
  },
  {
    name: "a text is a conflict if the patch has a mapping",
    before: "machine:\n  sysctls: none\n",
    patch: [{ machine: { sysctls: { a: "b" } } }],
    conflicts: {
      "machine.sysctls": /^adopted-conflict: .*has a value here, but the stack writes a mapping/,
    },
  },
  {
    name: "a mapping is a conflict if the patch has a list",
    before: "machine:\n  kernel:\n    modules: { nvidia: true }\n",
    patch: [{ machine: { kernel: { modules: [{ name: "nvidia" }] } } }],
    conflicts: {
      "machine.kernel.modules":
        /^adopted-conflict: .*has a mapping here, but the stack writes a list/,
    },
  },
  {
    name: "a list is a conflict if the patch has a text",
    before: "machine:\n  install:\n    image: [a]\n",
    patch: [{ machine: { install: { image: "b" } } }],
    conflicts: {
      "machine.install.image":
        /^adopted-conflict: .*has a mapping or list here, but the stack writes a single value/,
    },
  },
  {
    name: "a configuration that cannot be read is a conflict",
    before: "machine: [",
    patch: [{ machine: { install: { image: "b" } } }],
    conflicts: { configuration: /cannot be read/ },
  },
];

test.each(merges)("$name", (row) => {
  const [before, patch] = [textOf(row.before), textOf(row.patch)];
  const { configuration, added, changed, conflicts } = mergeConfiguration(before, [patch]);
  const foundConflicts = conflicts.map(({ check, field, problem, remedy }) => [
    field,
    `${check}: ${problem}; ${remedy}`,
  ]);
  const patterns = Object.entries(row.conflicts ?? {}).map(([field, pattern]) => [
    field,
    expect.stringMatching(pattern),
  ]);
  expect(Object.fromEntries(foundConflicts)).toEqual(Object.fromEntries(patterns));
  if (row.after === undefined) {
    expect({ configuration, changed, added }).toEqual(unchanged(before));
    return;
  }
  const after = textOf(row.after);
  if (typeof row.after === "string") expect(configuration).toBe(after);
  expect(contentOf(configuration)).toEqual(contentOf(after));
  const secondMerge = mergeConfiguration(configuration, [patch], added);
  expect(secondMerge).toMatchObject({ configuration, changed: false, added });
  const unmerged = unmergeConfiguration(configuration, added);
  if (typeof row.after === "string") expect(unmerged).toBe(before);
  expect(contentOf(unmerged)).toEqual(contentOf(before));
  if (row.equalsTalosPatch)
    expect([...wantedOf([before, patch]).values()][0]).toEqual(contentOf(after)[0]);
});

/** The result of a merge that changes nothing. */
const unchanged = (configuration: string): object => ({
  configuration,
  changed: false,
  added: { additions: [] },
});
