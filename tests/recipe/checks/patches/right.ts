import { talosDocument } from "./talos-document";
import { yaml } from "../../../support/yaml";

/** A patch of the machine configuration, and the Talos release of the machine. */
export interface Patch {
  /** Minor release of Talos. Default: 12. */
  talosMinor?: number;
  patch: string;
}

/** Patches that Talos accepts. */
export const rightPatches: Patch[] = [
  {
    patch: yaml`
        machine:
          sysctls: &more {vm.swappiness: 10}
          sysfs: *more
      `,
  },
  {
    patch: yaml`
        machine:
          sysctls: &more {vm.swappiness: 10}
          sysfs: {<<: *more, a.b: c}
      `,
  },
  { patch: '{"machine": {"sysctls": {"vm.swappiness": "10"}}}' },
  {
    patch: yaml`
        ---
        machine:
          sysctls:
            vm.swappiness: 10
        ---
      `,
  },
  { patch: "# nothing but a comment" },
  {
    patch: yaml`
        version: v1alpha1
        debug: false
        persist: true
        machine: {sysctls: {a: b}}
      `,
  },
  { patch: "debug: true" },
  {
    patch: yaml`
        cluster:
          inlineManifests:
            - name: ns
              contents: |
                apiVersion: v1
                kind: Namespace
                metadata: {name: gpu}
      `,
  },
  {
    patch: yaml`
        cluster:
          inlineManifests:
            - name: two
              contents: |
                a: b
                ---
                c: d
      `,
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - interface: eth0
                $patch: delete
      `,
  },
  {
    patch: yaml`
        machine: {sysctls: {a: b}}
        ---
        apiVersion: v1alpha1
        kind: KmsgLogConfig
        name: a
        url: tcp://10.0.0.1:1
        ---
        apiVersion: v1alpha1
        kind: KmsgLogConfig
        name: b
        url: tcp://10.0.0.2:1
      `,
  },
  {
    patch: yaml`
        machine:
          sysctls: { vm.nr_hugepages: 1024, net.ipv4.ip_forward: '1', kernel.panic: true }
      `,
  },
  { talosMinor: 8, patch: "machine: {sysctls: {fs.inotify.max_user_watches: 1048576}}" },
  {
    talosMinor: 13,
    patch: "machine: {sysfs: {devices.system.cpu.cpu0.cpufreq.scaling_governor: performance}}",
  },
  {
    patch: yaml`
        machine:
          kernel:
            modules: [{ name: zfs }, { name: drbd, parameters: [usermode_helper=disabled] }]
      `,
  },
  {
    talosMinor: 13,
    patch: yaml`
        machine:
          kernel:
            modules: [{ name: br_netfilter, parameters: [nf_conntrack_max=131072] }]
      `,
  },
  {
    patch: "machine: {time: {servers: [time.cloudflare.com], bootTimeout: 2m0s, disabled: false}}",
  },
  { patch: "machine: {time: {disabled: yes}}" },
  {
    talosMinor: 13,
    patch: "machine: {network: {hostname: gpu-1, nameservers: [1.1.1.1, '2606:4700::1111']}}",
  },
  {
    patch: yaml`
        machine:
          network:
            extraHostEntries: [{ ip: 10.0.0.5, aliases: [registry, registry.local] }]
      `,
  },
  { patch: "machine: {network: {disableSearchDomain: true, searchDomains: [example.org]}}" },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - interface: eth0
                dhcp: true
                dhcpOptions: { routeMetric: 1024, ipv4: true, ipv6: false }
      `,
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - interface: eth0
                addresses: [10.0.0.4/24, 'fd00::4/64']
                mtu: 9000
                routes: [{ network: 0.0.0.0/0, gateway: 10.0.0.1, metric: 10 }]
      `,
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - { interface: eth0, addresses: [10.0.0.4], routes: [{ gateway: 10.0.0.1 }] }
      `,
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - interface: eth0
                vlans:
                  - vlanId: 100
                    addresses: [10.1.0.4/24]
                    dhcp: false
                    mtu: 1500
                    vip: { ip: 10.1.0.9 }
      `,
  },
  { patch: "machine: {network: {interfaces: [{interface: eth0, vip: {ip: 10.0.0.9}}]}}" },
  { patch: "machine: {network: {interfaces: [{interface: eth0, ignore: true}]}}" },
  {
    patch: yaml`
        machine:
          network:
            interfaces: [{ interface: eth0, dummy: true, addresses: [169.254.1.1/32] }]
      `,
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - interface: eth0
                bridge:
                  stp: { enabled: true }
                  interfaces: [eno1, eno2]
                  vlan: { vlanFiltering: true }
      `,
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - interface: bond0
                bond:
                  mode: 802.3ad
                  lacpRate: fast
                  xmitHashPolicy: layer3+4
                  miimon: 100
                  updelay: 200
                  downdelay: 200
                  interfaces: [eno1, eno2]
      `,
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - interface: bond0
                bond:
                  mode: active-backup
                  primary: eno1
                  deviceSelectors: [{ hardwareAddr: '00:50:56:*' }]
      `,
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - deviceSelector: { busPath: '00:*', driver: virtio_net, physical: true }
                dhcp: true
      `,
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - { deviceSelector: { permanentAddr: '00:11:22:33:44:55' }, dhcp: true }
      `,
  },
  {
    patch: yaml`
        machine:
          network:
            kubespan:
              enabled: true
              advertiseKubernetesNetworks: false
              mtu: 1420
              filters: { endpoints: [0.0.0.0/0, '!10.0.0.0/8'] }
      `,
  },
  {
    patch: yaml`
        machine:
          registries:
            mirrors:
              docker.io:
                endpoints: ['https://mirror.local:5000']
                overridePath: true
                skipFallback: true
              '*': { endpoints: ['http://10.0.0.5:5000'] }
      `,
  },
  {
    talosMinor: 13,
    patch: "machine: {registries: {config: {registry.local: {tls: {insecureSkipVerify: true}}}}}",
  },
  {
    patch: yaml`
        machine:
          registries:
            config:
              registry.local: { tls: { ca: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t } }
      `,
  },
  {
    patch: yaml`
        machine:
          kubelet:
            extraArgs:
              rotate-server-certificates: true
              max-pods: 250
              feature-gates: GracefulNodeShutdown=true
      `,
  },
  { talosMinor: 13, patch: "machine: {kubelet: {extraArgs: {node-labels: [a=b, c=d]}}}" },
  {
    patch: yaml`
        machine:
          kubelet:
            extraConfig:
              maxPods: 250
              serverTLSBootstrap: true
              imageGCHighThresholdPercent: 70
              systemReserved: { cpu: 500m }
      `,
  },
  {
    patch: yaml`
        machine:
          kubelet:
            extraMounts:
              - destination: /var/mnt/data
                type: bind
                source: /var/mnt/data
                options: [bind, rshared, rw]
      `,
  },
  {
    patch: yaml`
        machine:
          kubelet:
            nodeIP: { validSubnets: [10.0.0.0/8, '!10.0.0.3/32'] }
            clusterDNS: [10.96.0.10]
            registerWithFQDN: true
      `,
  },
  {
    patch: yaml`
        machine:
          kubelet:
            image: 'ghcr.io/siderolabs/kubelet:v1.34.1'
            disableManifestsDirectory: true
            defaultRuntimeSeccompProfileEnabled: true
      `,
  },
  {
    patch: yaml`
        machine:
          kubelet:
            skipNodeRegistration: false
            credentialProviderConfig:
              apiVersion: kubelet.config.k8s.io/v1
              kind: CredentialProviderConfig
              providers: []
      `,
  },
  { patch: "machine: {nodeLabels: {rack: r1, topology.kubernetes.io/zone: a, empty: ''}}" },
  { patch: "machine: {nodeAnnotations: {example.org/note: 'anything at all, so long'}}" },
  { patch: "machine: {certSANs: [10.0.0.2, gpu.example.org]}" },
  {
    patch: yaml`
        machine:
          features:
            hostDNS: { enabled: true, forwardKubeDNSToHost: true, resolveMemberNames: true }
            kubePrism: { enabled: true, port: 7445 }
      `,
  },
  {
    patch: yaml`
        machine:
          features:
            diskQuotaSupport: true
            imageCache: { localEnabled: true }
            nodeAddressSortAlgorithm: v2
            rbac: true
            stableHostname: true
            apidCheckExtKeyUsage: true
      `,
  },
  { patch: "machine: {env: {http_proxy: 'http://proxy:3128', no_proxy: '10.0.0.0/8,.local'}}" },
  {
    patch: "machine: {files: [{path: /var/lib/x, permissions: 0o644, op: create, content: hello}]}",
  },
  {
    patch: "machine: {files: [{path: /var/lib/x, permissions: 0600, op: create, content: hello}]}",
  },
  {
    patch: yaml`
        machine:
          files:
            - path: /etc/nfsmount.conf
              permissions: 420
              op: overwrite
              content: '[ NFSMount_Global_Options ]'
      `,
  },
  {
    patch: yaml`
        machine:
          udev: { rules: ['SUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="44", MODE="0660"'] }
      `,
  },
  {
    patch: yaml`
        machine:
          logging:
            destinations:
              - endpoint: 'tcp://10.0.0.9:5140'
                format: json_lines
                extraTags: { node: a }
      `,
  },
  {
    patch: yaml`
        machine:
          install:
            disk: /dev/nvme0n1
            wipe: false
            extraKernelArgs: [console=ttyS0]
            legacyBIOSSupport: false
      `,
  },
  { patch: "machine: {install: {diskSelector: {size: '>= 100GB', model: 'WDC*', type: nvme}}}" },
  {
    patch: yaml`
        machine:
          disks:
            - device: /dev/sdb
              partitions:
                - { mountpoint: /var/mnt/extra, size: 100 GB }
                - { mountpoint: /var/mnt/rest }
      `,
  },
  {
    patch: yaml`
        machine:
          disks:
            - device: /dev/sdb
              partitions: [{ mountpoint: /var/mnt/extra, size: 107374182400 }]
      `,
  },
  {
    patch: yaml`
        machine:
          systemDiskEncryption:
            ephemeral: { provider: luks2, keys: [{ nodeID: {}, slot: 0 }] }
            state: { provider: luks2, keys: [{ tpm: {}, slot: 0 }] }
      `,
  },
  {
    patch: "machine: {seccompProfiles: [{name: audit.json, value: {defaultAction: SCMP_ACT_LOG}}]}",
  },
  {
    patch: yaml`
        machine:
          pods:
            - apiVersion: v1
              kind: Pod
              metadata: { name: nginx }
              spec: { containers: [{ name: nginx, image: nginx }] }
      `,
  },
  {
    patch: yaml`
        machine:
          controlPlane:
            controllerManager: { disabled: false }
            scheduler: { disabled: false }
      `,
  },
  {
    patch: yaml`
        machine:
          baseRuntimeSpecOverrides:
            process: { rlimits: [{ type: RLIMIT_NOFILE, hard: 1024, soft: 1024 }] }
      `,
  },
  { patch: "machine: {kubelet: null, sysctls: {a: b}}" },
  { patch: "machine: {network: {$patch: delete}}" },
  { patch: "machine: {install: {diskSelector: {size: '<= 2TB'}}}" },
  { patch: "machine: {install: {diskSelector: {size: '>500GB'}}}" },
  {
    patch: yaml`
        machine:
          systemDiskEncryption:
            state:
              provider: luks2
              keys: [{ slot: 0, nodeID: {} }, { slot: 1, tpm: {} }]
      `,
  },
  { patch: "cluster: {network: {cni: {name: none}}, proxy: {disabled: true}}" },
  {
    patch: yaml`
        cluster:
          network:
            cni: { name: flannel, flannel: { extraArgs: [--iface-can-reach=192.168.1.1] } }
      `,
  },
  { patch: "cluster: {network: {cni: {name: custom, urls: ['https://example.org/cilium.yaml']}}}" },
  {
    patch: yaml`
        cluster:
          network:
            dnsDomain: cluster.local
            podSubnets: [10.244.0.0/16, 'fd00:10::/56']
            serviceSubnets: [10.96.0.0/12]
      `,
  },
  {
    patch: yaml`
        cluster:
          apiServer:
            certSANs: [k8s.example.org, 10.0.0.2]
            extraArgs: { oidc-issuer-url: 'https://id.example.org' }
            disablePodSecurityPolicy: true
      `,
  },
  {
    patch: yaml`
        cluster:
          apiServer:
            admissionControl:
              - name: PodSecurity
                configuration:
                  apiVersion: pod-security.admission.config.k8s.io/v1alpha1
                  kind: PodSecurityConfiguration
                  exemptions: { namespaces: [gpu] }
      `,
  },
  {
    patch: yaml`
        cluster:
          apiServer:
            auditPolicy:
              apiVersion: audit.k8s.io/v1
              kind: Policy
              rules: [{ level: Metadata }]
            extraVolumes: [{ hostPath: /var/log, mountPath: /var/log, readonly: true }]
      `,
  },
  {
    patch: yaml`
        cluster:
          apiServer:
            env: { A: b }
            resources: { requests: { cpu: 500m }, limits: { memory: 2Gi } }
      `,
  },
  {
    talosMinor: 13,
    patch:
      "cluster: {apiServer: {extraArgs: {service-account-issuer: ['https://a', 'https://b']}}}",
  },
  {
    patch: yaml`
        cluster:
          controllerManager: { extraArgs: { bind-address: 0.0.0.0 } }
          scheduler: { extraArgs: { bind-address: 0.0.0.0 } }
      `,
  },
  {
    patch: yaml`
        cluster:
          scheduler:
            config:
              apiVersion: kubescheduler.config.k8s.io/v1
              kind: KubeSchedulerConfiguration
      `,
  },
  { patch: "cluster: {proxy: {mode: ipvs, extraArgs: {metrics-bind-address: '0.0.0.0:10249'}}}" },
  {
    patch: yaml`
        cluster:
          etcd:
            advertisedSubnets: [10.0.0.0/24]
            extraArgs: { election-timeout: '5000' }
      `,
  },
  { patch: "cluster: {etcd: {subnet: 10.0.0.0/24}}" },
  {
    patch: yaml`
        cluster:
          discovery:
            enabled: true
            registries: { kubernetes: { disabled: false }, service: { disabled: true } }
      `,
  },
  { patch: "cluster: {allowSchedulingOnControlPlanes: true, allowSchedulingOnMasters: true}" },
  {
    patch: yaml`
        cluster:
          extraManifests: ['https://example.org/a.yaml']
          extraManifestHeaders: { Accept: '*/*' }
      `,
  },
  {
    patch: yaml`
        cluster:
          coreDNS: { disabled: true }
          externalCloudProvider:
            enabled: true
            manifests: ['https://example.org/ccm.yaml']
      `,
  },
  {
    patch: yaml`
        cluster:
          adminKubeconfig: { certLifetime: 8760h }
          controlPlane: { endpoint: 'https://10.0.0.2:6443', localAPIServerPort: 6443 }
      `,
  },
  { patch: "cluster: {apiServer: {admissionControl: {$patch: delete}}}" },
  { patch: talosDocument("KmsgLogConfig", "name: remote", "$patch: delete") },
  { patch: talosDocument("HostnameConfig", "$patch: delete") },
  {
    talosMinor: 8,
    patch: talosDocument("KmsgLogConfig", "name: remote", "url: udp://10.0.0.9:514/"),
  },
  { patch: talosDocument("EventSinkConfig", "endpoint: 10.0.0.9:8080") },
  { patch: talosDocument("WatchdogTimerConfig", "device: /dev/watchdog0", "timeout: 3m0s") },
  { patch: talosDocument("NetworkDefaultActionConfig", "ingress: block") },
  {
    patch: talosDocument(
      "NetworkRuleConfig",
      "name: kubelet",
      "portSelector: {ports: [10250, 8000-8100], protocol: tcp}",
      "ingress: [{subnet: 10.0.0.0/24, except: 10.0.0.4/32}]",
    ),
  },
  {
    patch: talosDocument(
      "NetworkRuleConfig",
      "name: api",
      "portSelector: {ports: [6443, '53-53'], protocol: TCP}",
      "ingress: [{subnet: '::/0'}]",
    ),
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: nut-client",
      "configFiles: [{content: MONITOR ups@host, mountPath: /usr/local/etc/nut/upsmon.conf}]",
      "environment: [UPS=a=b]",
    ),
  },
  {
    patch: yaml`
        apiVersion: v1alpha1
        kind: TrustedRootsConfig
        name: own-ca
        certificates: |
          -----BEGIN CERTIFICATE-----
          aGVsbG8=
          -----END CERTIFICATE-----
      `,
  },
  {
    talosMinor: 10,
    patch: yaml`
        apiVersion: v1alpha1
        kind: UserVolumeConfig
        name: data
        provisioning:
          diskSelector: { match: disk.transport == "nvme" && !system_disk }
          minSize: 10GiB
      `,
  },
  {
    patch: yaml`
        apiVersion: v1alpha1
        kind: UserVolumeConfig
        name: data
        provisioning: {diskSelector: {match: 'disk.size > 100u * GB'}, maxSize: 80%, grow: true}
      `,
  },
  {
    patch: yaml`
        apiVersion: v1alpha1
        kind: UserVolumeConfig
        name: data
        provisioning:
          diskSelector: { match: '!system_disk && disk.model.startsWith("Samsung")' }
          minSize: 500GB
          maxSize: 1 TiB
      `,
  },
  { patch: talosDocument("UserVolumeConfig", "name: d", "volumeType: directory") },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: d",
      "volumeType: disk",
      "provisioning: {diskSelector: {match: \"disk.dev_path == '/dev/sdb'\"}}",
      "filesystem: {type: xfs, projectQuotaSupport: true}",
    ),
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: d",
      "provisioning: {diskSelector: {match: system_disk}, maxSize: 50GiB}",
      "encryption: {provider: luks2, keys: [{slot: 0, nodeID: {}}]}",
    ),
  },
  {
    talosMinor: 9,
    patch: yaml`
        apiVersion: v1alpha1
        kind: VolumeConfig
        name: EPHEMERAL
        provisioning: {maxSize: 50GiB, grow: false, diskSelector: {match: disk.transport == 'nvme'}}
      `,
  },
  {
    patch: talosDocument(
      "VolumeConfig",
      "name: STATE",
      "encryption: {provider: luks2, keys: [{slot: 0, tpm: {}}]}",
    ),
  },
  {
    talosMinor: 9,
    patch: talosDocument(
      "VolumeConfig",
      "name: IMAGECACHE",
      "provisioning: {diskSelector: {match: system_disk}}",
    ),
  },
  {
    talosMinor: 14,
    patch: talosDocument(
      "VolumeConfig",
      "name: ETCD",
      "provisioning: {diskSelector: {match: system_disk}, maxSize: 50GiB}",
    ),
  },
  {
    talosMinor: 14,
    patch: talosDocument(
      "VolumeConfig",
      "name: CRI",
      "provisioning: {diskSelector: {match: system_disk}, maxSize: 50GiB}",
    ),
  },
  {
    talosMinor: 14,
    patch: talosDocument(
      "VolumeConfig",
      "name: KUBELET",
      "provisioning: {diskSelector: {match: system_disk}, maxSize: 50GiB}",
    ),
  },
  {
    talosMinor: 14,
    patch: talosDocument(
      "VolumeConfig",
      "name: LOG",
      "provisioning: {diskSelector: {match: system_disk}, maxSize: 50GiB}",
    ),
  },
  {
    patch: talosDocument(
      "RawVolumeConfig",
      "name: ceph",
      "provisioning: {diskSelector: {match: disk.rotational}, minSize: 1TiB}",
    ),
  },
  {
    patch: talosDocument(
      "SwapVolumeConfig",
      "name: swap1",
      "provisioning: {diskSelector: {match: system_disk}, maxSize: 8GiB}",
    ),
  },
  {
    patch: talosDocument(
      "ExistingVolumeConfig",
      "name: old",
      "discovery: {volumeSelector: {match: 'volume.partition_label == \"data\"'}}",
      "mount: {readOnly: true}",
    ),
  },
  {
    patch: talosDocument(
      "ExistingVolumeConfig",
      "name: old-old-old-old-old-old-old-old-old-old-old-old-",
      "discovery: {volumeSelector: {match: \"volume.name == 'x'\"}}",
    ),
  },
  { patch: talosDocument("UserVolumeConfig", "name: a", "volumeType: directory") },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: a",
      "provisioning: {diskSelector: {match: system_disk}, minSize: 10GiB, maxSize: 80%}",
    ),
  },
  { patch: talosDocument("ZswapConfig", "maxPoolPercent: 25", "shrinkerEnabled: true") },
  {
    patch: talosDocument("PCIDriverRebindConfig", "name: 0000:04:00.00", "targetDriver: vfio-pci"),
  },
  {
    patch: talosDocument(
      "EthernetConfig",
      "name: enp0s2",
      "rings: {rx: 128}",
      "features: {tx-tcp-segmentation: false}",
    ),
  },
  { patch: talosDocument("HostnameConfig", "hostname: gpu-1") },
  { patch: talosDocument("HostnameConfig", "auto: stable") },
  {
    patch: talosDocument(
      "LinkConfig",
      "name: eth0",
      "mtu: 9000",
      "up: true",
      "addresses: [{address: 10.0.0.4/24}]",
      "routes: [{destination: 10.0.0.0/8, gateway: 10.0.0.1}]",
    ),
  },
  {
    patch: talosDocument(
      "LinkAliasConfig",
      "name: net0",
      "selector: {match: 'mac(link.permanent_addr) == \"00:1a:2b:33:44:55\"'}",
    ),
  },
  {
    patch: talosDocument(
      "VLANConfig",
      "name: eth0.100",
      "vlanID: 100",
      "parent: eth0",
      "vlanMode: 802.1q",
      "mtu: 1500",
    ),
  },
  { patch: talosDocument("VLANConfig", "name: eth0.100", "mtu: 9000") },
  {
    patch: talosDocument(
      "BondConfig",
      "name: bond0",
      "links: [eno1, eno2]",
      "bondMode: 802.3ad",
      "xmitHashPolicy: layer3+4",
      "lacpRate: slow",
      "miimon: 100",
    ),
  },
  { patch: talosDocument("BridgeConfig", "name: br0", "links: [eno1]", "stp: {enabled: true}") },
  {
    patch: talosDocument("DummyLinkConfig", "name: dummy0", "addresses: [{address: 10.9.9.9/32}]"),
  },
  {
    patch: talosDocument(
      "DHCPv4Config",
      "name: eth0",
      "routeMetric: 1024",
      "clientIdentifier: mac",
    ),
  },
  {
    patch: talosDocument(
      "ResolverConfig",
      "nameservers: [{address: 10.0.0.1}, {address: 'fd00::1'}]",
      "searchDomains: {domains: [example.org], disableDefault: true}",
    ),
  },
  {
    patch: talosDocument(
      "TimeSyncConfig",
      "enabled: true",
      "bootTimeout: 2m",
      "ntp: {servers: [pool.ntp.org]}",
    ),
  },
  { patch: talosDocument("StaticHostConfig", "name: 10.0.0.5", "hostnames: [registry.local]") },
  { patch: talosDocument("Layer2VIPConfig", "name: 10.0.0.9", "link: eth0") },
  {
    patch: talosDocument(
      "RegistryMirrorConfig",
      "name: docker.io",
      "endpoints: [{url: 'https://mirror.local', overridePath: true}]",
      "skipFallback: true",
    ),
  },
  { patch: talosDocument("RegistryTLSConfig", "name: registry.local", "insecureSkipVerify: true") },
  { patch: talosDocument("OOMConfig", "sampleInterval: 500ms") },
  { talosMinor: 13, patch: talosDocument("KubeSpanConfig", "enabled: true", "mtu: 1420") },
  {
    talosMinor: 13,
    patch: talosDocument("EnvironmentConfig", "variables: {GRPC_GO_LOG_SEVERITY_LEVEL: error}"),
  },
  {
    talosMinor: 13,
    patch: talosDocument("VRFConfig", "name: vrf-blue", "links: [eno1]", "table: '123'"),
  },
  {
    talosMinor: 13,
    patch: talosDocument(
      "TCPProbeConfig",
      "name: probe",
      "interval: 5s",
      "failureThreshold: 3",
      "endpoint: 10.0.0.1:443",
      "timeout: 1s",
    ),
  },
  {
    patch: talosDocument(
      "KubeSpanEndpointsConfig",
      "extraAnnouncedEndpoints: ['192.168.3.1:51820']",
    ),
  },
  {
    talosMinor: 13,
    patch: talosDocument("ImageVerificationConfig", "rules: [{image: 'docker.io/*', skip: true}]"),
  },
  { talosMinor: 14, patch: talosDocument("SysctlConfig", "params: {vm.nr_hugepages: '1024'}") },
  { talosMinor: 14, patch: talosDocument("KernelModuleConfig", "name: zfs", "parameters: [a=b]") },
  { talosMinor: 14, patch: talosDocument("KubeletConfig", "config: {maxPods: 200}") },
  { talosMinor: 14, patch: talosDocument("UdevRulesConfig", "rules: ['SUBSYSTEM==\"drm\"']") },
];
