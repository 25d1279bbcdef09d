/**
 * Documents beside which Talos refuses fields of `machine` and `cluster`, each from the minor on that has it.
 * Source: talos v1.14.0-rc.1, pkg/machinery/config/types, every V1Alpha1ConflictValidate.
 */
export const documentConflicts: Readonly<Record<string, readonly string[]>> = {
  CRIBaseRuntimeSpecConfig: ["machine.baseRuntimeSpecOverrides"],
  DiscoveryIdentityConfig: ["cluster.id", "cluster.secret"],
  DiscoveryServiceConfig: ["cluster.discovery"],
  HostnameConfig: ["machine.network.hostname"],
  ImageCacheConfig: ["machine.features.imageCache"],
  KubeAPIServerCAConfig: ["cluster.ca"],
  KubeAPIServerConfig: ["cluster.apiServer", "cluster.controlPlane.localAPIServerPort"],
  KubeAdmissionControlConfig: ["cluster.apiServer.admissionControl"],
  KubeAggregatorCAConfig: ["cluster.aggregatorCA"],
  KubeAuditPolicyConfig: ["cluster.apiServer.auditPolicy"],
  KubeClusterConfig: ["cluster.clusterName", "cluster.controlPlane.endpoint"],
  KubeControllerManagerConfig: ["cluster.controllerManager"],
  KubeCoreDNSConfig: ["cluster.coreDNS"],
  KubeCredentialProviderConfig: ["machine.kubelet"],
  KubeEtcdEncryptionConfig: ["cluster.secretboxEncryptionSecret", "cluster.aescbcEncryptionSecret"],
  KubeFlannelCNIConfig: ["cluster.network"],
  KubeNetworkConfig: ["cluster.network"],
  KubeNodeConfig: [
    "cluster.allowSchedulingOnControlPlanes",
    "machine.kubelet.skipNodeRegistration",
    "machine.kubelet.registerWithFQDN",
    "machine.kubelet.nodeIP",
    "machine.nodeLabels",
    "machine.nodeAnnotations",
    "machine.nodeTaints",
  ],
  KubePrismConfig: ["machine.features.kubePrism"],
  KubeProxyConfig: ["cluster.proxy"],
  KubeSchedulerConfig: ["cluster.scheduler"],
  KubeServiceAccountConfig: ["cluster.serviceAccount"],
  KubeSpanConfig: ["machine.network.kubespan"],
  KubeTalosAPIAccessConfig: ["machine.features.kubernetesTalosAPIAccess"],
  KubeletConfig: ["machine.kubelet"],
  ResolverConfig: [
    "machine.network.nameservers",
    "machine.network.searchDomains",
    "machine.network.disableSearchDomain",
  ],
  TimeSyncConfig: ["machine.time.servers", "machine.time.disabled", "machine.time.bootTimeout"],
  UnattendedInstallConfig: ["machine.install"],
};

/** Talos minor at which they were last read. */
export const conflictsReadTo = 14;
