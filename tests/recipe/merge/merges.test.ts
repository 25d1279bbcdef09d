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
  live: Documents;
  /** The stack's patch. */
  patch: Documents;
  /** The configuration afterwards. Default: it is unchanged. */
  gives?: Documents;
  /** Set if Talos gives the same result when it applies the patches in order. */
  likePatches?: true;
  /** Patterns of conflicts by field. The configuration is then unchanged. Default: none. */
  conflicts?: Record<string, RegExp>;
}

const textOf = (documents: Documents): string =>
  typeof documents === "string" ? documents : documents.map((one) => stringify(one)).join("---\n");

const merges: Merge[] = [
  // Talos replaces these lists (`merge:"replace"`, Args.Merge, ImageVerificationRules.Merge).
  {
    name: "pod networks of a patch replace those of KubeNetworkConfig",
    live: [
      {
        kind: "KubeNetworkConfig",
        podSubnets: ["10.244.0.0/16"],
        serviceSubnets: ["10.96.0.0/12"],
        dnsDomain: "a.b",
      },
    ],
    patch: [{ kind: "KubeNetworkConfig", podSubnets: ["10.1.0.0/16"] }],
    gives: [
      {
        kind: "KubeNetworkConfig",
        podSubnets: ["10.1.0.0/16"],
        serviceSubnets: ["10.96.0.0/12"],
        dnsDomain: "a.b",
      },
    ],
    likePatches: true,
  },
  {
    name: "an audit policy of a patch replaces that of KubeAuditPolicyConfig",
    live: [
      {
        kind: "KubeAuditPolicyConfig",
        configuration: { rules: [{ level: "Metadata" }], omitStages: ["RequestReceived"] },
      },
    ],
    patch: [{ kind: "KubeAuditPolicyConfig", configuration: { rules: [{ level: "None" }] } }],
    gives: [{ kind: "KubeAuditPolicyConfig", configuration: { rules: [{ level: "None" }] } }],
    likePatches: true,
  },
  {
    name: "a patch replaces the configuration of KubeAuthenticationConfig",
    live: [
      {
        kind: "KubeAuthenticationConfig",
        configuration: { rules: [{ level: "Metadata" }], omitStages: ["RequestReceived"] },
      },
    ],
    patch: [{ kind: "KubeAuthenticationConfig", configuration: { rules: [{ level: "None" }] } }],
    gives: [{ kind: "KubeAuthenticationConfig", configuration: { rules: [{ level: "None" }] } }],
    likePatches: true,
  },
  {
    name: "a patch replaces the configuration of KubeCredentialProviderConfig",
    live: [
      {
        kind: "KubeCredentialProviderConfig",
        configuration: { rules: [{ level: "Metadata" }], omitStages: ["RequestReceived"] },
      },
    ],
    patch: [
      { kind: "KubeCredentialProviderConfig", configuration: { rules: [{ level: "None" }] } },
    ],
    gives: [
      { kind: "KubeCredentialProviderConfig", configuration: { rules: [{ level: "None" }] } },
    ],
    likePatches: true,
  },
  {
    name: "a static pod of a patch replaces the pod of the same name",
    live: [
      {
        kind: "KubeStaticPodConfig",
        name: "nginx",
        pod: { metadata: { name: "a" }, spec: { hostNetwork: true } },
      },
    ],
    patch: [{ kind: "KubeStaticPodConfig", name: "nginx", pod: { metadata: { name: "b" } } }],
    gives: [{ kind: "KubeStaticPodConfig", name: "nginx", pod: { metadata: { name: "b" } } }],
    likePatches: true,
  },
  {
    name: "a patch replaces the overrides of CRIBaseRuntimeSpecConfig",
    live: [
      { kind: "CRIBaseRuntimeSpecConfig", overrides: { process: { rlimits: [{ hard: 1 }] } } },
    ],
    patch: [{ kind: "CRIBaseRuntimeSpecConfig", overrides: { process: { oomScoreAdj: 1 } } }],
    gives: [{ kind: "CRIBaseRuntimeSpecConfig", overrides: { process: { oomScoreAdj: 1 } } }],
    likePatches: true,
  },
  {
    name: "lists of a patch replace those of BGPInstanceConfig",
    live: [
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
    gives: [
      {
        kind: "BGPInstanceConfig",
        name: "f",
        advertise: ["b"],
        importRoutes: [{ bgpInstance: "y" }],
        neighbors: [{ link: "b" }],
      },
    ],
    likePatches: true,
  },
  {
    name: "a rule of image verification replaces the rule of the same image, at its position",
    live: [
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
    gives: [
      {
        kind: "ImageVerificationConfig",
        rules: [
          { image: "a/*", skip: true },
          { image: "*", skip: true },
          { image: "b/*", skip: true },
        ],
      },
    ],
    likePatches: true,
  },
  {
    name: "an argument's list replaces a list",
    live: [{ machine: { kubelet: { extraArgs: { a: ["x", "y"] } } } }],
    patch: [{ machine: { kubelet: { extraArgs: { a: ["z"] } } } }],
    gives: [{ machine: { kubelet: { extraArgs: { a: ["z"] } } } }],
    likePatches: true,
  },
  {
    name: "an argument's list replaces a text",
    live: [{ machine: { kubelet: { extraArgs: { a: "x" } } } }],
    patch: [{ machine: { kubelet: { extraArgs: { a: ["y", "z"] } } } }],
    gives: [{ machine: { kubelet: { extraArgs: { a: ["y", "z"] } } } }],
    likePatches: true,
  },
  {
    name: "an argument's text replaces a list",
    live: [{ machine: { kubelet: { extraArgs: { a: ["x", "y"] } } } }],
    patch: [{ machine: { kubelet: { extraArgs: { a: "z" } } } }],
    gives: [{ machine: { kubelet: { extraArgs: { a: "z" } } } }],
    likePatches: true,
  },
  {
    name: "an argument's list replaces a list in KubeletConfig",
    live: [{ kind: "KubeletConfig", extraArgs: { a: ["x"], b: "c" } }],
    patch: [{ kind: "KubeletConfig", extraArgs: { a: ["y"] } }],
    gives: [{ kind: "KubeletConfig", extraArgs: { a: ["y"], b: "c" } }],
    likePatches: true,
  },
  {
    name: "lists of the same names are joined in a document of another kind",
    live: [{ kind: "OtherConfig", ingress: ["a"], rules: [{ image: "x" }] }],
    patch: [{ kind: "OtherConfig", ingress: ["b"], rules: [{ image: "x", more: 1 }] }],
    gives: [
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
    live: [
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
    gives: [
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
    live: [
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
    gives: [
      { machine: { type: "worker", kernel: { modules: [{ name: "nvidia_drm" }] } } },
      { kind: "KernelModuleConfig", name: "nvidia", parameters: ["a=1", "b=2"] },
      { kind: "KernelModuleConfig", name: "nvidia_uvm" },
    ],
  },
  // Spellings
  {
    name: "a number equals the text that Talos reads it as",
    live: "machine:\n  sysctls:\n    net.core.bpf_jit_harden: 1\n",
    patch: [{ machine: { sysctls: { "net.core.bpf_jit_harden": "1" } } }],
  },
  {
    name: "a module that another tool gave parameters stays as it is",
    live:
      "machine:\n  kernel:\n    modules:\n      - name: nvidia\n        parameters: " +
      "[NVreg_EnableGpuFirmware=1]\n",
    patch: [{ machine: { kernel: { modules: [{ name: "nvidia" }] } } }],
  },
  {
    name: "an empty field gets the patch's value",
    live: "machine:\n  files: null\n  sysctls: {}\n",
    patch: [
      {
        machine: {
          files: [{ op: "create", path: "/var/a", permissions: 420, content: "a" }],
          sysctls: { a: "b" },
        },
      },
    ],
    gives: [
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
    live: "machine:\n    install:\n        image: old:1 # for the installer\n    registries: {}\n",
    patch:
      "machine:\n  install: { image: new:1 }\n  registries: { mirrors: { a: { endpoints: [b] } } }\n",
    gives:
      "machine:\n    install:\n        image: new:1 # for the installer\n    registries:\n        " +
      "mirrors:\n            a:\n                endpoints:\n                    - b\n",
  },
  {
    name: "permissions stay octal",
    live: "machine: {}\n",
    patch:
      "machine:\n  files:\n    - op: create\n      path: /var/a\n      permissions: 0o644\n      " +
      "content: a\n",
    gives:
      "machine:\n    files:\n        - op: create\n          path: /var/a\n          permissions: " +
      "0o644\n          content: a\n",
  },
  {
    name: "an empty configuration gets the patch's settings",
    live: "",
    patch: [{ machine: { sysctls: { a: "b" } } }],
    gives: [{ machine: { sysctls: { a: "b" } } }],
  },
  // Conflicts
  {
    name: "another tool's file with the same path and other content is a conflict",
    live: [
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
    live: [
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
    live: "machine:\n  sysctls: none\n",
    patch: [{ machine: { sysctls: { a: "b" } } }],
    conflicts: {
      "machine.sysctls": /^adopted-conflict: .*has a value here, but the stack writes a mapping/,
    },
  },
  {
    name: "a mapping is a conflict if the patch has a list",
    live: "machine:\n  kernel:\n    modules: { nvidia: true }\n",
    patch: [{ machine: { kernel: { modules: [{ name: "nvidia" }] } } }],
    conflicts: {
      "machine.kernel.modules":
        /^adopted-conflict: .*has a mapping here, but the stack writes a list/,
    },
  },
  {
    name: "a list is a conflict if the patch has a text",
    live: "machine:\n  install:\n    image: [a]\n",
    patch: [{ machine: { install: { image: "b" } } }],
    conflicts: {
      "machine.install.image":
        /^adopted-conflict: .*has a mapping or list here, but the stack writes a single value/,
    },
  },
  {
    name: "a configuration that cannot be read is a conflict",
    live: "machine: [",
    patch: [{ machine: { install: { image: "b" } } }],
    conflicts: { configuration: /cannot be read/ },
  },
];

test.each(merges)("$name", (row) => {
  const [live, patch] = [textOf(row.live), textOf(row.patch)];
  const { configuration, added, changed, conflicts } = mergeConfiguration(live, [patch]);
  const found = conflicts.map(({ check, field, problem, remedy }) => [
    field,
    `${check}: ${problem}; ${remedy}`,
  ]);
  const patterns = Object.entries(row.conflicts ?? {}).map(([field, pattern]) => [
    field,
    expect.stringMatching(pattern),
  ]);
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(patterns));
  if (row.gives === undefined)
    return expect({ configuration, changed, added }).toEqual(nothing(live));
  const gives = textOf(row.gives);
  if (typeof row.gives === "string") expect(configuration).toBe(gives);
  expect(contentOf(configuration)).toEqual(contentOf(gives));
  const again = mergeConfiguration(configuration, [patch], added);
  expect(again).toMatchObject({ configuration, changed: false, added });
  const taken = unmergeConfiguration(configuration, added);
  if (typeof row.gives === "string") expect(taken).toBe(live);
  expect(contentOf(taken)).toEqual(contentOf(live));
  if (row.likePatches)
    expect([...wantedOf([live, patch]).values()][0]).toEqual(contentOf(gives)[0]);
});

const nothing = (configuration: string): object => ({
  configuration,
  changed: false,
  added: { additions: [] },
});
