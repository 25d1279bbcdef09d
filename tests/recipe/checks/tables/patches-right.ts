/** Patches as people write them, each with the minor of Talos that it is for; none of them may be refused. */
const machine = (text: string): string => `machine: ${text}\n`;
const cluster = (text: string): string => `cluster: ${text}\n`;
const doc = (kind: string, rest: string): string => `apiVersion: v1alpha1\nkind: ${kind}\n${rest}\n`;
const eth = (rest: string): string => machine(`{network: {interfaces: [{interface: eth0, ${rest}}]}}`);
const volume = (match: string, more = "minSize: 10GiB"): string =>
  doc("UserVolumeConfig", `name: data\nprovisioning: {diskSelector: {match: ${match}}, ${more}}`);

export const rightPatches: [minor: number, patch: string][] = [
  [12, machine("{sysctls: {vm.nr_hugepages: 1024, net.ipv4.ip_forward: '1', kernel.panic: true}}")],
  [8, machine("{sysctls: {fs.inotify.max_user_watches: 1048576}}")],
  [13, machine("{sysfs: {devices.system.cpu.cpu0.cpufreq.scaling_governor: performance}}")],
  [12, machine("{kernel: {modules: [{name: zfs}, {name: drbd, parameters: [usermode_helper=disabled]}]}}")],
  [13, machine("{kernel: {modules: [{name: br_netfilter, parameters: [nf_conntrack_max=131072]}]}}")],
  [12, machine("{time: {servers: [time.cloudflare.com], bootTimeout: 2m0s, disabled: false}}")],
  [12, machine("{time: {disabled: yes}}")],
  [13, machine("{network: {hostname: gpu-1, nameservers: [1.1.1.1, '2606:4700::1111']}}")],
  [12, machine("{network: {extraHostEntries: [{ip: 10.0.0.5, aliases: [registry, registry.local]}]}}")],
  [12, machine("{network: {disableSearchDomain: true, searchDomains: [example.org]}}")],
  [12, eth("dhcp: true, dhcpOptions: {routeMetric: 1024, ipv4: true, ipv6: false}")],
  [
    12,
    eth(
      "addresses: [10.0.0.4/24, 'fd00::4/64'], mtu: 9000, routes: [{network: 0.0.0.0/0, gateway: 10.0.0.1, metric: 10}]",
    ),
  ],
  [12, eth("addresses: [10.0.0.4], routes: [{gateway: 10.0.0.1}]")],
  [12, eth("vlans: [{vlanId: 100, addresses: [10.1.0.4/24], dhcp: false, mtu: 1500, vip: {ip: 10.1.0.9}}]")],
  [12, eth("vip: {ip: 10.0.0.9}")],
  [12, eth("ignore: true")],
  [12, eth("dummy: true, addresses: [169.254.1.1/32]")],
  [12, eth("bridge: {stp: {enabled: true}, interfaces: [eno1, eno2], vlan: {vlanFiltering: true}}")],
  [
    12,
    machine(
      "{network: {interfaces: [{interface: bond0, bond: {mode: 802.3ad, lacpRate: fast, xmitHashPolicy: layer3+4, miimon: 100, updelay: 200, downdelay: 200, interfaces: [eno1, eno2]}}]}}",
    ),
  ],
  [
    12,
    machine(
      "{network: {interfaces: [{interface: bond0, bond: {mode: active-backup, primary: eno1, deviceSelectors: [{hardwareAddr: '00:50:56:*'}]}}]}}",
    ),
  ],
  [
    12,
    machine(
      "{network: {interfaces: [{deviceSelector: {busPath: '00:*', driver: virtio_net, physical: true}, dhcp: true}]}}",
    ),
  ],
  [12, machine("{network: {interfaces: [{deviceSelector: {permanentAddr: '00:11:22:33:44:55'}, dhcp: true}]}}")],
  [
    12,
    machine(
      "{network: {kubespan: {enabled: true, advertiseKubernetesNetworks: false, mtu: 1420, filters: {endpoints: [0.0.0.0/0, '!10.0.0.0/8']}}}}",
    ),
  ],
  [
    12,
    machine(
      "{registries: {mirrors: {docker.io: {endpoints: ['https://mirror.local:5000'], overridePath: true, skipFallback: true}, '*': {endpoints: ['http://10.0.0.5:5000']}}}}",
    ),
  ],
  [13, machine("{registries: {config: {registry.local: {tls: {insecureSkipVerify: true}}}}}")],
  [12, machine("{registries: {config: {registry.local: {tls: {ca: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t}}}}}")],
  [
    12,
    machine(
      "{kubelet: {extraArgs: {rotate-server-certificates: true, max-pods: 250, feature-gates: GracefulNodeShutdown=true}}}",
    ),
  ],
  [13, machine("{kubelet: {extraArgs: {node-labels: [a=b, c=d]}}}")],
  [
    12,
    machine(
      "{kubelet: {extraConfig: {maxPods: 250, serverTLSBootstrap: true, imageGCHighThresholdPercent: 70, systemReserved: {cpu: 500m}}}}",
    ),
  ],
  [
    12,
    machine(
      "{kubelet: {extraMounts: [{destination: /var/mnt/data, type: bind, source: /var/mnt/data, options: [bind, rshared, rw]}]}}",
    ),
  ],
  [
    12,
    machine(
      "{kubelet: {nodeIP: {validSubnets: [10.0.0.0/8, '!10.0.0.3/32']}, clusterDNS: [10.96.0.10], registerWithFQDN: true}}",
    ),
  ],
  [
    12,
    machine(
      "{kubelet: {image: 'ghcr.io/siderolabs/kubelet:v1.34.1', disableManifestsDirectory: true, defaultRuntimeSeccompProfileEnabled: true}}",
    ),
  ],
  [
    12,
    machine(
      "{kubelet: {skipNodeRegistration: false, credentialProviderConfig: {apiVersion: kubelet.config.k8s.io/v1, kind: CredentialProviderConfig, providers: []}}}",
    ),
  ],
  [12, machine("{nodeLabels: {rack: r1, topology.kubernetes.io/zone: a, empty: ''}}")],
  [12, machine("{nodeAnnotations: {example.org/note: 'anything at all, so long'}}")],
  [12, machine("{certSANs: [10.0.0.2, gpu.example.org]}")],
  [
    12,
    machine(
      "{features: {hostDNS: {enabled: true, forwardKubeDNSToHost: true, resolveMemberNames: true}, kubePrism: {enabled: true, port: 7445}}}",
    ),
  ],
  [
    12,
    machine(
      "{features: {diskQuotaSupport: true, imageCache: {localEnabled: true}, nodeAddressSortAlgorithm: v2, rbac: true, stableHostname: true, apidCheckExtKeyUsage: true}}",
    ),
  ],
  [12, machine("{env: {http_proxy: 'http://proxy:3128', no_proxy: '10.0.0.0/8,.local'}}")],
  [12, machine("{files: [{path: /var/lib/x, permissions: 0o644, op: create, content: hello}]}")],
  [12, machine("{files: [{path: /var/lib/x, permissions: 0600, op: create, content: hello}]}")],
  [
    12,
    machine(
      "{files: [{path: /etc/nfsmount.conf, permissions: 420, op: overwrite, content: '[ NFSMount_Global_Options ]'}]}",
    ),
  ],
  [12, machine('{udev: {rules: [\'SUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="44", MODE="0660"\']}}')],
  [
    12,
    machine("{logging: {destinations: [{endpoint: 'tcp://10.0.0.9:5140', format: json_lines, extraTags: {node: a}}]}}"),
  ],
  [
    12,
    machine("{install: {disk: /dev/nvme0n1, wipe: false, extraKernelArgs: [console=ttyS0], legacyBIOSSupport: false}}"),
  ],
  [12, machine("{install: {diskSelector: {size: '>= 100GB', model: 'WDC*', type: nvme}}}")],
  [
    12,
    machine(
      "{disks: [{device: /dev/sdb, partitions: [{mountpoint: /var/mnt/extra, size: 100 GB}, {mountpoint: /var/mnt/rest}]}]}",
    ),
  ],
  [12, machine("{disks: [{device: /dev/sdb, partitions: [{mountpoint: /var/mnt/extra, size: 107374182400}]}]}")],
  [
    12,
    machine(
      "{systemDiskEncryption: {ephemeral: {provider: luks2, keys: [{nodeID: {}, slot: 0}]}, state: {provider: luks2, keys: [{tpm: {}, slot: 0}]}}}",
    ),
  ],
  [12, machine("{seccompProfiles: [{name: audit.json, value: {defaultAction: SCMP_ACT_LOG}}]}")],
  [
    12,
    machine(
      "{pods: [{apiVersion: v1, kind: Pod, metadata: {name: nginx}, spec: {containers: [{name: nginx, image: nginx}]}}]}",
    ),
  ],
  [12, machine("{controlPlane: {controllerManager: {disabled: false}, scheduler: {disabled: false}}}")],
  [12, machine("{baseRuntimeSpecOverrides: {process: {rlimits: [{type: RLIMIT_NOFILE, hard: 1024, soft: 1024}]}}}")],
  [12, machine("{kubelet: null, sysctls: {a: b}}")],
  [12, "machine:\n  sysctls: &more {vm.swappiness: 10}\n  sysfs: *more\n"],
  [12, "machine:\n  sysctls: &more {vm.swappiness: 10}\n  sysfs: {<<: *more, a.b: c}\n"],
  [12, '{"machine": {"sysctls": {"vm.swappiness": "10"}}}'],
  [12, "---\nmachine:\n  sysctls:\n    vm.swappiness: 10\n---\n"],
  [12, "# nothing but a comment\n"],
  [12, "version: v1alpha1\ndebug: false\npersist: true\nmachine: {sysctls: {a: b}}\n"],
  [12, "debug: true\n"],
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
    "cluster:\n  inlineManifests:\n    - name: ns\n      contents: |\n        apiVersion: v1\n        kind: Namespace\n        metadata: {name: gpu}\n",
  ],
  [12, "cluster:\n  inlineManifests:\n    - name: two\n      contents: |\n        a: b\n        ---\n        c: d\n"],
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
  [12, machine("{network: {$patch: delete}}")],
  [12, "machine:\n  network:\n    interfaces:\n      - interface: eth0\n        $patch: delete\n"],
  [12, cluster("{apiServer: {admissionControl: {$patch: delete}}}")],
  [12, doc("KmsgLogConfig", "name: remote\n$patch: delete")],
  [12, doc("HostnameConfig", "$patch: delete")],
  [8, doc("KmsgLogConfig", "name: remote\nurl: udp://10.0.0.9:514/")],
  [12, doc("EventSinkConfig", "endpoint: 10.0.0.9:8080")],
  [12, doc("WatchdogTimerConfig", "device: /dev/watchdog0\ntimeout: 3m0s")],
  [12, doc("NetworkDefaultActionConfig", "ingress: block")],
  [
    12,
    doc(
      "NetworkRuleConfig",
      "name: kubelet\nportSelector: {ports: [10250, 8000-8100], protocol: tcp}\ningress: [{subnet: 10.0.0.0/24, except: 10.0.0.4/32}]",
    ),
  ],
  [
    12,
    doc(
      "NetworkRuleConfig",
      "name: api\nportSelector: {ports: [6443, '53-53'], protocol: TCP}\ningress: [{subnet: '::/0'}]",
    ),
  ],
  [
    12,
    doc(
      "ExtensionServiceConfig",
      "name: nut-client\nconfigFiles: [{content: MONITOR ups@host, mountPath: /usr/local/etc/nut/upsmon.conf}]\nenvironment: [UPS=a=b]",
    ),
  ],
  [
    12,
    doc(
      "TrustedRootsConfig",
      "name: own-ca\ncertificates: |\n  -----BEGIN CERTIFICATE-----\n  aGVsbG8=\n  -----END CERTIFICATE-----",
    ),
  ],
  [10, volume('disk.transport == "nvme" && !system_disk')],
  [12, volume("'disk.size > 100u * GB'", "maxSize: 80%, grow: true")],
  [12, volume("'!system_disk && disk.model.startsWith(\"Samsung\")'", "minSize: 500GB, maxSize: 1 TiB")],
  [12, doc("UserVolumeConfig", "name: d\nvolumeType: directory")],
  [
    12,
    doc(
      "UserVolumeConfig",
      "name: d\nvolumeType: disk\nprovisioning: {diskSelector: {match: \"disk.dev_path == '/dev/sdb'\"}}\nfilesystem: {type: xfs, projectQuotaSupport: true}",
    ),
  ],
  [
    12,
    doc(
      "UserVolumeConfig",
      "name: d\nprovisioning: {diskSelector: {match: system_disk}, maxSize: 50GiB}\nencryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}",
    ),
  ],
  [
    9,
    doc(
      "VolumeConfig",
      "name: EPHEMERAL\nprovisioning: {maxSize: 50GiB, grow: false, diskSelector: {match: disk.transport == 'nvme'}}",
    ),
  ],
  [12, doc("VolumeConfig", "name: STATE\nencryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}")],
  [12, doc("RawVolumeConfig", "name: ceph\nprovisioning: {diskSelector: {match: disk.rotational}, minSize: 1TiB}")],
  [12, doc("SwapVolumeConfig", "name: swap1\nprovisioning: {diskSelector: {match: system_disk}, maxSize: 8GiB}")],
  [
    12,
    doc(
      "ExistingVolumeConfig",
      "name: old\ndiscovery: {volumeSelector: {match: 'volume.partition_label == \"data\"'}}\nmount: {readOnly: true}",
    ),
  ],
  [12, machine("{install: {diskSelector: {size: '<= 2TB'}}}")],
  [12, machine("{install: {diskSelector: {size: '>500GB'}}}")],
  [
    12,
    machine("{systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, nodeID: {}}, {slot: 1, tpm: {}}]}}}"),
  ],
  [12, doc("UserVolumeConfig", "name: a\nvolumeType: directory")],
  [
    12,
    doc(
      "UserVolumeConfig",
      "name: a\nprovisioning: {diskSelector: {match: system_disk}, minSize: 10GiB, maxSize: 80%}",
    ),
  ],
  [12, doc("ZswapConfig", "maxPoolPercent: 25\nshrinkerEnabled: true")],
  [12, doc("PCIDriverRebindConfig", "name: 0000:04:00.00\ntargetDriver: vfio-pci")],
  [12, doc("EthernetConfig", "name: enp0s2\nrings: {rx: 128}\nfeatures: {tx-tcp-segmentation: false}")],
  [12, doc("HostnameConfig", "hostname: gpu-1")],
  [12, doc("HostnameConfig", "auto: stable")],
  [
    12,
    doc(
      "LinkConfig",
      "name: eth0\nmtu: 9000\nup: true\naddresses: [{address: 10.0.0.4/24}]\nroutes: [{destination: 10.0.0.0/8, gateway: 10.0.0.1}]",
    ),
  ],
  [12, doc("LinkAliasConfig", "name: net0\nselector: {match: 'mac(link.permanent_addr) == \"00:1a:2b:33:44:55\"'}")],
  [12, doc("VLANConfig", "name: eth0.100\nvlanID: 100\nparent: eth0\nvlanMode: 802.1q\nmtu: 1500")],
  [12, doc("VLANConfig", "name: eth0.100\nmtu: 9000")],
  [
    12,
    doc(
      "BondConfig",
      "name: bond0\nlinks: [eno1, eno2]\nbondMode: 802.3ad\nxmitHashPolicy: layer3+4\nlacpRate: slow\nmiimon: 100",
    ),
  ],
  [12, doc("BridgeConfig", "name: br0\nlinks: [eno1]\nstp: {enabled: true}")],
  [12, doc("DummyLinkConfig", "name: dummy0\naddresses: [{address: 10.9.9.9/32}]")],
  [12, doc("DHCPv4Config", "name: eth0\nrouteMetric: 1024\nclientIdentifier: mac")],
  [
    12,
    doc(
      "ResolverConfig",
      "nameservers: [{address: 10.0.0.1}, {address: 'fd00::1'}]\nsearchDomains: {domains: [example.org], disableDefault: true}",
    ),
  ],
  [12, doc("TimeSyncConfig", "enabled: true\nbootTimeout: 2m\nntp: {servers: [pool.ntp.org]}")],
  [12, doc("StaticHostConfig", "name: 10.0.0.5\nhostnames: [registry.local]")],
  [12, doc("Layer2VIPConfig", "name: 10.0.0.9\nlink: eth0")],
  [
    12,
    doc(
      "RegistryMirrorConfig",
      "name: docker.io\nendpoints: [{url: 'https://mirror.local', overridePath: true}]\nskipFallback: true",
    ),
  ],
  [12, doc("RegistryTLSConfig", "name: registry.local\ninsecureSkipVerify: true")],
  [12, doc("OOMConfig", "sampleInterval: 500ms")],
  [13, doc("KubeSpanConfig", "enabled: true\nmtu: 1420")],
  [13, doc("EnvironmentConfig", "variables: {GRPC_GO_LOG_SEVERITY_LEVEL: error}")],
  [13, doc("VRFConfig", "name: vrf-blue\nlinks: [eno1]\ntable: '123'")],
  [13, doc("TCPProbeConfig", "name: probe\ninterval: 5s\nfailureThreshold: 3\nendpoint: 10.0.0.1:443\ntimeout: 1s")],
  [12, doc("KubeSpanEndpointsConfig", "extraAnnouncedEndpoints: ['192.168.3.1:51820']")],
  [13, doc("ImageVerificationConfig", "rules: [{image: 'docker.io/*', skip: true}]")],
  [14, doc("SysctlConfig", "params: {vm.nr_hugepages: '1024'}")],
  [14, doc("KernelModuleConfig", "name: zfs\nparameters: [a=b]")],
  [14, doc("KubeletConfig", "config: {maxPods: 200}")],
  [14, doc("UdevRulesConfig", "rules: ['SUBSYSTEM==\"drm\"']")],
  [
    12,
    machine("{sysctls: {a: b}}") +
      "---\n" +
      doc("KmsgLogConfig", "name: a\nurl: tcp://10.0.0.1:1") +
      "---\n" +
      doc("KmsgLogConfig", "name: b\nurl: tcp://10.0.0.2:1"),
  ],
];
