import { machine, type RightPatch } from "./patch";

const eth = (rest: string): string => machine(`{network: {interfaces: [{interface: eth0, ${rest}}]}}`);

/** What stands in `machine`. */
export const machinePatches: RightPatch[] = [
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
  [12, machine("{network: {$patch: delete}}")],
  [12, machine("{install: {diskSelector: {size: '<= 2TB'}}}")],
  [12, machine("{install: {diskSelector: {size: '>500GB'}}}")],
  [
    12,
    machine("{systemDiskEncryption: {state: {provider: luks2, keys: [{slot: 0, nodeID: {}}, {slot: 1, tpm: {}}]}}}"),
  ],
];
