/**
 * What depends on the minor of Talos and stands in no other table. Each part says at which minor it was last read, and a test asks
 * that this be the newest (`tests/recipe/facts/talos-release.test.ts`).
 */

/**
 * What a running Talos ≤ 1.13 takes of the configuration; anything else under `machine` waits for a boot. Of the other
 * documents it takes every one. Source: talos, release-1.8 to release-1.13, internal/app/machined/pkg/runtime/v1alpha1/
 * v1alpha1_runtime.go, CanApplyImmediate: the same fields in all of them, but for two that came with 1.9.
 */
export const takenLive: { part: string; since?: number }[] = [
  ...[
    "cluster",
    "debug",
    "machine.acceptedCAs",
    "machine.ca",
    "machine.certSANs",
    "machine.controlPlane",
    "machine.features.hostDNS",
    "machine.features.kubePrism",
    "machine.features.kubernetesTalosAPIAccess",
    "machine.install",
    "machine.kernel",
    "machine.kubelet",
    "machine.logging",
    "machine.network",
    "machine.nodeAnnotations",
    "machine.nodeLabels",
    "machine.nodeTaints",
    "machine.pods",
    "machine.registries",
    "machine.seccompProfiles",
    "machine.sysctls",
    "machine.sysfs",
    "machine.time",
  ].map((part) => ({ part })),
  { part: "machine.features.imageCache", since: 9 },
  { part: "machine.features.nodeAddressSortAlgorithm", since: 9 },
];

/** First minor that takes every change as it runs: it has no CanApplyImmediate any more (talos, release-1.14, the same file). */
export const everythingLiveFrom = 14;

/** Talos minor at which they were last read. */
export const liveReadTo = 14;

/**
 * What Talos ≥ 1.14 may have in a document of its own, beside which the field of `machine` is an error. Kernel modules, sysctls
 * and files have documents, too, but those stand beside the fields of old. Source: talos v1.14.0-rc.1,
 * pkg/machinery/config/types, every V1Alpha1ConflictValidate: runtime/unattended_install.go, k8s/kubelet.go, k8s/node.go.
 */
export const movedFields: { field: string[]; document: string; to: string[] }[] = [
  { field: ["install", "image"], document: "UnattendedInstallConfig", to: ["installer", "image"] },
  { field: ["kubelet", "extraConfig"], document: "KubeletConfig", to: ["config"] },
  { field: ["kubelet", "extraArgs"], document: "KubeletConfig", to: ["extraArgs"] },
  { field: ["kubelet", "clusterDNS"], document: "KubeletConfig", to: ["clusterDNS"] },
  { field: ["kubelet", "image"], document: "KubeletConfig", to: ["image"] },
  { field: ["nodeLabels"], document: "KubeNodeConfig", to: ["labels"] },
  { field: ["nodeAnnotations"], document: "KubeNodeConfig", to: ["annotations"] },
  { field: ["nodeTaints"], document: "KubeNodeConfig", to: ["taints"] },
];

/** Talos minor at which they were last read. */
export const movedReadTo = 14;

/**
 * Lists whose items are found again by a value of theirs, by the kind of their document. Talos' own strategic merge appends to most of
 * them, which makes two files of one path, and a machine that does not boot (talos, v1alpha1_sequencer_tasks.go, WriteUserFiles).
 */
export const keyedLists = new Map<string, Record<string, string>>([
  [
    "config",
    {
      "machine.files": "path",
      "machine.kernel.modules": "name",
      "machine.disks": "device",
      "machine.kubelet.extraMounts": "destination",
      "machine.network.interfaces": "interface",
      "machine.network.interfaces[].vlans": "vlanId",
      "machine.network.extraHostEntries": "ip",
      "cluster.apiServer.admissionControl": "name",
      "cluster.inlineManifests": "name",
    },
  ],
  ["ExtensionServiceConfig", { configFiles: "mountPath" }],
  ["ImageVerificationConfig", { rules: "image" }],
]);

/**
 * What a later value replaces whole, as it does for Talos: `merge:"replace"` of talos v1.13.9 (v1alpha1/v1alpha1_types.go,
 * network/rule_config.go) and v1.14.0-rc.1 (cri, k8s and network/bgp.go), in pkg/machinery/config/types.
 */
export const replacedFields = new Map<string, string[]>([
  ["config", ["cluster.network.podSubnets", "cluster.network.serviceSubnets", "cluster.apiServer.auditPolicy"]],
  ["NetworkRuleConfig", ["ingress", "portSelector.ports"]],
  ["KubeNetworkConfig", ["podSubnets", "serviceSubnets"]],
  ["KubeAuditPolicyConfig", ["configuration"]],
  ["KubeAuthenticationConfig", ["configuration"]],
  ["KubeCredentialProviderConfig", ["configuration"]],
  ["KubeStaticPodConfig", ["pod"]],
  ["CRIBaseRuntimeSpecConfig", ["overrides"]],
  ["BGPInstanceConfig", ["advertise", "importRoutes", "neighbors"]],
]);

/** Talos minor at which they were last read. */
export const listsReadTo = 14;

/** Talos' own volumes that a VolumeConfig may name, by the minor from which on (v1.8.4 to v1.14.0-rc.1, volume_config.go). */
export const ownVolumes = { EPHEMERAL: 8, IMAGECACHE: 9, STATE: 11, ETCD: 14, CRI: 14, KUBELET: 14, LOG: 14 };

/** Talos minor at which they were last read. */
export const volumesReadTo = 14;

/**
 * From this contract on a generated configuration has a HostnameConfig document, `auto: stable`, and `machine.install.grubUseUKICmdline`
 * (`talosctl gen config` v1.13.0, contracts v1.8 to v1.14 compared).
 */
export const documentsFrom = "v1.12.0";

/** Talos minor at which they were last read. */
export const contractReadTo = 14;

/**
 * Arguments that images of Talos have by themselves, by their keys, and those that a boot loader adds (talos, pkg/machinery/kernel/kernel.go,
 * pkg/machinery/platforms; `lockdown` and the sysctl with Secure Boot; what images of 1.7 to 1.14 have: talos v1.14.0,
 * pkg/imager/imager_test.go).
 */
export const imageArgs =
  /^(talos\.platform|console|init_on_alloc|slab_nomerge|pti|consoleblank|nvme_core\.io_timeout|random\.trust_cpu|printk\.devkmsg|ima_template|ima_appraise|ima_hash|selinux|module\.sig_enforce|proc_mem\.force_override|lockdown|sysctl\.kernel\.kexec_load_disabled|page_poison|slub_debug|BOOT_IMAGE|initrd)(=|$)/;

/** Talos minor at which they were last read. */
export const imageArgsReadTo = 14;

/**
 * How far talosctl's minor release may be from the machine's: older misses methods, much newer asks for ones that are not
 * there (talos#13581). Three ahead is what talosctl 1.13 is to Talos 1.10, and 1.14 to 1.11, whose API has every method that this
 * program calls: etcd's downgrade was added and GenerateConfiguration taken out, and `upgrade` and `image pull` fall back to the old
 * methods by themselves (talos v1.10.9, v1.11.5 and v1.14.0 api/machine/machine.proto; v1.14.0 cmd/talosctl/cmd/talos, upgrade.go
 * and image.go).
 */
export const clientAhead = 3;
/** Minor releases that talosctl may be behind the release that the machine shall run. */
export const clientBehind = 1;

/** Talos minor at which they were last read. */
export const clientReadTo = 14;
