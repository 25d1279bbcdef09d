import { cluster, type RightPatch } from "./patch";

/** What stands in `cluster`. */
export const clusterPatches: RightPatch[] = [
  [12, cluster("{network: {cni: {name: none}}, proxy: {disabled: true}}")],
  [12, cluster("{network: {cni: {name: flannel, flannel: {extraArgs: [--iface-can-reach=192.168.1.1]}}}}")],
  [12, cluster("{network: {cni: {name: custom, urls: ['https://example.org/cilium.yaml']}}}")],
  [
    12,
    cluster(
      "{network: {dnsDomain: cluster.local, podSubnets: [10.244.0.0/16, 'fd00:10::/56'], serviceSubnets: [10.96.0.0/12]}}",
    ),
  ],
  [
    12,
    cluster(
      "{apiServer: {certSANs: [k8s.example.org, 10.0.0.2], extraArgs: {oidc-issuer-url: 'https://id.example.org'}, disablePodSecurityPolicy: true}}",
    ),
  ],
  [
    12,
    cluster(
      "{apiServer: {admissionControl: [{name: PodSecurity, configuration: {apiVersion: pod-security.admission.config.k8s.io/v1alpha1, kind: PodSecurityConfiguration, exemptions: {namespaces: [gpu]}}}]}}",
    ),
  ],
  [
    12,
    cluster(
      "{apiServer: {auditPolicy: {apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: Metadata}]}, extraVolumes: [{hostPath: /var/log, mountPath: /var/log, readonly: true}]}}",
    ),
  ],
  [12, cluster("{apiServer: {env: {A: b}, resources: {requests: {cpu: 500m}, limits: {memory: 2Gi}}}}")],
  [13, cluster("{apiServer: {extraArgs: {service-account-issuer: ['https://a', 'https://b']}}}")],
  [
    12,
    cluster(
      "{controllerManager: {extraArgs: {bind-address: 0.0.0.0}}, scheduler: {extraArgs: {bind-address: 0.0.0.0}}}",
    ),
  ],
  [
    12,
    cluster("{scheduler: {config: {apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}}}"),
  ],
  [12, cluster("{proxy: {mode: ipvs, extraArgs: {metrics-bind-address: '0.0.0.0:10249'}}}")],
  [12, cluster("{etcd: {advertisedSubnets: [10.0.0.0/24], extraArgs: {election-timeout: '5000'}}}")],
  [12, cluster("{etcd: {subnet: 10.0.0.0/24}}")],
  [12, cluster("{discovery: {enabled: true, registries: {kubernetes: {disabled: false}, service: {disabled: true}}}}")],
  [12, cluster("{allowSchedulingOnControlPlanes: true, allowSchedulingOnMasters: true}")],
  [12, cluster("{extraManifests: ['https://example.org/a.yaml'], extraManifestHeaders: {Accept: '*/*'}}")],
  [
    12,
    cluster(
      "{coreDNS: {disabled: true}, externalCloudProvider: {enabled: true, manifests: ['https://example.org/ccm.yaml']}}",
    ),
  ],
  [
    12,
    cluster(
      "{adminKubeconfig: {certLifetime: 8760h}, controlPlane: {endpoint: 'https://10.0.0.2:6443', localAPIServerPort: 6443}}",
    ),
  ],
  [12, cluster("{apiServer: {admissionControl: {$patch: delete}}}")],
];
