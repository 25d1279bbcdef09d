import { doc, type RightPatch } from "./patch";

const volume = (match: string, more = "minSize: 10GiB"): string =>
  doc("UserVolumeConfig", `name: data\nprovisioning: {diskSelector: {match: ${match}}, ${more}}`);

/** Documents of their own. */
export const documentPatches: RightPatch[] = [
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
  [9, doc("VolumeConfig", "name: IMAGECACHE\nprovisioning: {diskSelector: {match: system_disk}}")],
  ...["ETCD", "CRI", "KUBELET", "LOG"].map((name): RightPatch => [
    14,
    doc("VolumeConfig", `name: ${name}\nprovisioning: {diskSelector: {match: system_disk}, maxSize: 50GiB}`),
  ]),
  [12, doc("RawVolumeConfig", "name: ceph\nprovisioning: {diskSelector: {match: disk.rotational}, minSize: 1TiB}")],
  [12, doc("SwapVolumeConfig", "name: swap1\nprovisioning: {diskSelector: {match: system_disk}, maxSize: 8GiB}")],
  [
    12,
    doc(
      "ExistingVolumeConfig",
      "name: old\ndiscovery: {volumeSelector: {match: 'volume.partition_label == \"data\"'}}\nmount: {readOnly: true}",
    ),
  ],
  // A label that somebody else gave: only its own volumes' labels are Talos' to limit.
  [
    12,
    doc(
      "ExistingVolumeConfig",
      `name: ${"old-".repeat(12)}\ndiscovery: {volumeSelector: {match: "volume.name == 'x'"}}`,
    ),
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
];
