import { talosDocument } from "./talos-document";
import { yaml } from "../../../support/yaml";
import type { Patch } from "./right";

interface WrongPatch extends Patch {
  /** A part of the finding. */
  says: string;
}

/** Patches that Talos refuses, or whose fields it would lose. */
export const wrongPatches: WrongPatch[] = [
  // Fields that are misspelt, or in the wrong place.
  { patch: "machine: {sysctl: {a: b}}", says: '"machine.sysctls"' },
  { patch: "machine: {Sysctls: {a: b}}", says: '"machine.sysctls"' },
  { patch: "machine: {kernel: {module: [{name: zfs}]}}", says: '"machine.kernel.modules"' },
  { patch: "machine: {kernel: {modules: [{nme: zfs}]}}", says: "modules[0].name" },
  { patch: "machine: {kernel: {modules: [{name: zfs, params: [a]}]}}", says: "parameters" },
  { patch: "machine: {kernal: {modules: []}}", says: '"machine.kernel"' },
  { patch: "machine: {kubelet: {extraArg: {a: b}}}", says: "extraArgs" },
  { patch: "machine: {kubelet: {extra_args: {a: b}}}", says: "extraArgs" },
  { patch: "machine: {kubelet: {extraMount: []}}", says: "extraMounts" },
  { patch: "machine: {kubelet: {nodeIp: {validSubnets: []}}}", says: "nodeIP" },
  { patch: "machine: {network: {interface: []}}", says: "interfaces" },
  { patch: "machine: {network: {interfaces: [{interface: eth0, dhcp4: true}]}}", says: "dhcp" },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, address: [10.0.0.1/24]}]}}",
    says: "addresses",
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - { interface: eth0, routes: [{ network: 0.0.0.0/0, gatway: 10.0.0.1 }] }
      `,
    says: "gateway",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanID: 5}]}]}}",
    says: "vlanId",
  },
  { patch: "machine: {network: {nameserver: [1.1.1.1]}}", says: "nameservers" },
  { patch: "machine: {registries: {mirror: {}}}", says: "mirrors" },
  {
    patch: "machine: {registries: {mirrors: {docker.io: {endpoint: ['https://a']}}}}",
    says: "endpoints",
  },
  {
    patch: "machine: {registries: {config: {a: {tls: {insecureSkipTLSVerify: true}}}}}",
    says: "insecureSkipVerify",
  },
  { patch: "machine: {features: {hostDns: {enabled: true}}}", says: "hostDNS" },
  { patch: "machine: {features: {kubeprism: {enabled: true}}}", says: "kubePrism" },
  { patch: "machine: {install: {extraKernelArg: [a]}}", says: "extraKernelArgs" },
  { patch: "machine: {time: {server: [a]}}", says: "servers" },
  { patch: "machine: {udev: {rule: []}}", says: "rules" },
  { patch: "machine: {logging: {destination: []}}", says: "destinations" },
  { patch: "machine: {nodeLabel: {a: b}}", says: "nodeLabels" },
  { patch: "machine: {certSans: [a]}", says: "certSANs" },
  { patch: "machine: {allowSchedulingOnControlPlanes: true}", says: "under cluster" },
  { patch: "machine: {nodeIP: {validSubnets: []}}", says: "machine.kubelet" },
  { patch: "machine: {hostname: a}", says: "machine.network" },
  { patch: "cluster: {sysctls: {a: b}}", says: "under machine" },
  { patch: "cluster: {apiserver: {}}", says: "apiServer" },
  { patch: "cluster: {apiServer: {certSAN: []}}", says: "certSANs" },
  { patch: "cluster: {network: {podSubnet: [10.0.0.0/8]}}", says: "podSubnets" },
  { patch: "cluster: {network: {cni: {names: none}}}", says: "name" },
  { patch: "cluster: {inlineManifest: []}", says: "inlineManifests" },
  { patch: "cluster: {inlineManifests: [{name: a, content: b}]}", says: "contents" },
  { patch: "cluster: {extraManifest: []}", says: "extraManifests" },
  {
    patch: "cluster: {allowSchedulingOnControlPlane: true}",
    says: "allowSchedulingOnControlPlanes",
  },
  { patch: "cluster: {proxy: {disable: true}}", says: "disabled" },
  { patch: "sysctls: {a: b}", says: "under machine" },
  { patch: "machines: {sysctls: {a: b}}", says: "machine" },
  { patch: "kubelet: {extraArgs: {a: b}}", says: "under machine" },
  { patch: "spec: {machine: {}}", says: "has no kind" },
  {
    patch: yaml`
        version: v1beta1
        machine: {}
      `,
    says: "has an unknown value",
  },
  // Kinds of documents: misspelt, of another release, twice, or incomplete.
  {
    talosMinor: 14,
    patch: talosDocument("KernelModulConfig", "name: a"),
    says: '"KernelModuleConfig"',
  },
  { patch: talosDocument("UserVolumesConfig", "name: a"), says: '"UserVolumeConfig"' },
  { patch: talosDocument("kmsglogconfig", "name: a"), says: '"KmsgLogConfig"' },
  { patch: talosDocument("RegistryMirrorsConfig", "name: a"), says: '"RegistryMirrorConfig"' },
  { patch: talosDocument("Pod", "metadata: {name: a}"), says: "does not know" },
  {
    patch: talosDocument("WatchdogTimer", "device: /dev/watchdog0"),
    says: '"WatchdogTimerConfig"',
  },
  {
    patch: yaml`
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: a}
      `,
    says: "does not know",
  },
  {
    talosMinor: 8,
    patch: talosDocument("UserVolumeConfig", "name: a"),
    says: "Talos 1.10 introduced it",
  },
  {
    talosMinor: 11,
    patch: talosDocument("HostnameConfig", "hostname: a"),
    says: "Talos 1.12 introduced it",
  },
  {
    patch: talosDocument("EnvironmentConfig", "variables: {a: b}"),
    says: "Talos 1.13 introduced it",
  },
  {
    talosMinor: 13,
    patch: talosDocument("SysctlConfig", "params: {a: b}"),
    says: "Talos 1.14 introduced it",
  },
  {
    talosMinor: 13,
    patch: talosDocument("KubeletConfig", "config: {}"),
    says: "Talos 1.14 introduced it",
  },
  {
    patch: yaml`
        kind: KmsgLogConfig
        name: a
        url: tcp://a:1
      `,
    says: "apiVersion",
  },
  {
    patch: yaml`
        apiVersion: v1alpha1
        name: a
      `,
    says: "no kind",
  },
  {
    patch: yaml`
        apiVersion: v1
        kind: KmsgLogConfig
        name: a
        url: tcp://a:1
      `,
    says: "apiVersion",
  },
  { patch: talosDocument("KmsgLogConfig", "url: tcp://10.0.0.1:1"), says: "name" },
  {
    patch: talosDocument("KmsgLogConfig", "name: a", "url: http://10.0.0.1:1"),
    says: "does not match",
  },
  {
    patch: talosDocument("KmsgLogConfig", "name: a", "uri: tcp://10.0.0.1:1"),
    says: '"KmsgLogConfig.url"',
  },
  {
    patch: yaml`
        apiVersion: v1alpha1
        kind: KmsgLogConfig
        name: a
        url: tcp://b:1
        ---
        apiVersion: v1alpha1
        kind: KmsgLogConfig
        name: a
        url: tcp://c:1
      `,
    says: "two KmsgLogConfig a",
  },
  {
    patch: yaml`
        machine: {sysctls: {a: b}}
        ---
        machine: {sysctls: {c: d}}
      `,
    says: "two documents with machine",
  },
  {
    patch: yaml`
        machine: {sysctls: {a: b}}
        ---
        cluster: {proxy: {disabled: true}}
      `,
    says: "two documents with machine",
  },
  {
    patch: yaml`
        machine: {sysctls: {a: b}}
        kind: KmsgLogConfig
        apiVersion: v1alpha1
        name: a
      `,
    says: "machine",
  },
  // Documents of volumes.
  { patch: talosDocument("UserVolumeConfig", "provisioning: {minSize: 1GiB}"), says: "name" },
  { patch: talosDocument("UserVolumeConfig", "name: 'my data!'"), says: "a volume name" },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: data",
      "provisioning: {diskSelector: {match: disk.transport = 'nvme'}, minSize: 10GiB}",
    ),
    says: "CEL",
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: data",
      "provisioning: {diskSelector: {match: 'disk.size > 100u * GB &&'}, minSize: 10GiB}",
    ),
    says: "CEL",
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: data",
      "provisioning: {diskSelector: {match: '(system_disk'}, minSize: 10GiB}",
    ),
    says: "CEL",
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: data",
      "provisioning: {diskSelector: {match: system_disk and true}, minSize: 10GiB}",
    ),
    says: "CEL",
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: data",
      "provisioning: {diskSelector: {match: system_disk}, minSize: lots}",
    ),
    says: "size",
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: data",
      "provisioning: {diskSelector: {match: system_disk}, minsize: 1GiB}",
    ),
    says: "minSize",
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: data",
      "provisioning: {diskSelector: {match: system_disk}, maxSize: big}",
    ),
    says: "size",
  },
  {
    patch: talosDocument("UserVolumeConfig", "name: a", "filesystem: {type: zfs}"),
    says: "ext4, xfs",
  },
  {
    patch: talosDocument("UserVolumeConfig", "name: a", "volumeType: lvm"),
    says: "directory, disk, partition",
  },
  {
    patch: talosDocument("UserVolumeConfig", "name: a", "encryption: {provider: luks1}"),
    says: "luks2",
  },
  {
    patch: talosDocument("VolumeConfig", "name: DATA", "provisioning: {maxSize: 1GiB}"),
    says: "EPHEMERAL",
  },
  { talosMinor: 14, patch: talosDocument("VolumeConfig", "name: META"), says: "LOG" },
  { talosMinor: 14, patch: talosDocument("VolumeConfig", "name: EFI"), says: "LOG" },
  { talosMinor: 14, patch: talosDocument("VolumeConfig", "name: BOOT"), says: "LOG" },
  {
    talosMinor: 13,
    patch: talosDocument("VolumeConfig", "name: ETCD"),
    says: "one of EPHEMERAL, IMAGECACHE, STATE",
  },
  {
    talosMinor: 10,
    patch: talosDocument("VolumeConfig", "name: STATE"),
    says: "one of EPHEMERAL, IMAGECACHE",
  },
  {
    talosMinor: 8,
    patch: talosDocument("VolumeConfig", "name: IMAGECACHE"),
    says: "one of EPHEMERAL",
  },
  { patch: talosDocument("ExistingVolumeConfig", "name: old_data"), says: "a volume name" },
  {
    patch: talosDocument("UserVolumeConfig", "name: ddddddddddddddddddddddddddddddddddd"),
    says: "34 at most",
  },
  // Values of other documents.
  {
    patch: talosDocument(
      "NetworkRuleConfig",
      "name: a",
      "portSelector: {ports: [99999], protocol: tcp}",
      "ingress: []",
    ),
    says: "port",
  },
  {
    patch: talosDocument(
      "NetworkRuleConfig",
      "name: a",
      "portSelector: {ports: ['6443'], protocol: tcp}",
      "ingress: []",
    ),
    says: "port",
  },
  {
    patch: talosDocument(
      "NetworkRuleConfig",
      "name: a",
      "portSelector: {ports: [80], protocol: http}",
      "ingress: []",
    ),
    says: "tcp, udp",
  },
  {
    patch: talosDocument(
      "NetworkRuleConfig",
      "name: a",
      "portSelector: {ports: [80], protocol: tcp}",
      "ingress: [{subnet: 10.0.0.0}]",
    ),
    says: "prefix length",
  },
  { patch: talosDocument("NetworkDefaultActionConfig", "ingress: deny"), says: "accept, block" },
  {
    patch: talosDocument("WatchdogTimerConfig", "device: /dev/watchdog0", "timeout: 3 minutes"),
    says: "duration",
  },
  {
    patch: talosDocument("WatchdogTimerConfig", "device: /dev/watchdog0", "timeout: 180"),
    says: "duration",
  },
  {
    patch: talosDocument("ExtensionServiceConfig", "name: a", "environment: {A: b}"),
    says: "list",
  },
  {
    patch: talosDocument("ExtensionServiceConfig", "name: a", "environment: [A]"),
    says: "NAME=value",
  },
  {
    patch: talosDocument(
      "ExtensionServiceConfig",
      "name: a",
      "configFiles: [{content: a, path: /a}]",
    ),
    says: "mountPath",
  },
  {
    patch: talosDocument("HostnameConfig", "hostname: a", "auto: stable"),
    says: "hostname and auto",
  },
  { patch: talosDocument("HostnameConfig", "hostname: gpu_1"), says: "host name" },
  { patch: talosDocument("HostnameConfig", "auto: always"), says: "stable, off" },
  {
    patch: talosDocument("VLANConfig", "name: a", "vlanID: 5000", "parent: eth0"),
    says: "out of range",
  },
  {
    patch: talosDocument("BondConfig", "name: b", "links: [a]", "bondMode: lacp"),
    says: "802.3ad",
  },
  { patch: talosDocument("LinkConfig", "name: a", "addresses: [10.0.0.1/24]"), says: "mapping" },
  {
    patch: talosDocument("LinkConfig", "name: a", "addresses: [{address: 10.0.0.1}]"),
    says: "prefix length",
  },
  {
    patch: talosDocument(
      "LinkConfig",
      "name: a",
      "routes: [{destination: 10.0.0.0/8, gateway: 10.0.0.300}]",
    ),
    says: "IP address",
  },
  { patch: talosDocument("ResolverConfig", "nameservers: [10.0.0.1]"), says: "mapping" },
  {
    patch: talosDocument("RegistryMirrorConfig", "name: docker.io", "endpoints: ['https://a']"),
    says: "mapping",
  },
  {
    patch: talosDocument(
      "RegistryMirrorConfig",
      "name: docker.io",
      "endpoints: [{overridePath: true}]",
    ),
    says: "url",
  },
  {
    patch: talosDocument("StaticHostConfig", "name: registry", "hostnames: [a]"),
    says: "IP address",
  },
  // Values under machine.
  { patch: "machine: {sysctls: [a, b]}", says: "mapping" },
  { patch: "machine: {sysctls: a=b}", says: "mapping" },
  { patch: "machine: {sysctls: {vm.swappiness: [10]}}", says: "text" },
  { patch: "machine: {sysctls: {vm: {swappiness: 10}}}", says: "text" },
  { patch: "machine: {kernel: {modules: [zfs]}}", says: "mapping" },
  { patch: "machine: {kernel: {modules: {name: zfs}}}", says: "list" },
  { patch: "machine: {kernel: {modules: [{name: zfs, parameters: a=b}]}}", says: "list" },
  { patch: "machine: {kubelet: {disableManifestsDirectory: 'true'}}", says: "without quotes" },
  { patch: "machine: {kubelet: {disableManifestsDirectory: 1}}", says: "true or false" },
  { patch: "machine: {kubelet: {extraArgs: [a]}}", says: "mapping" },
  { patch: "machine: {kubelet: {extraArgs: {node-labels: [a=b]}}}", says: "text" },
  {
    talosMinor: 13,
    patch: "machine: {kubelet: {extraArgs: {node-labels: {a: b}}}}",
    says: "text or a list",
  },
  { patch: "machine: {kubelet: {extraConfig: text}}", says: "mapping" },
  {
    patch: "machine: {kubelet: {extraConfig: {staticPodPath: /a}}}",
    says: "only Talos may set",
  },
  {
    patch: "machine: {kubelet: {extraConfig: {authentication: {anonymous: {enabled: true}}}}}",
    says: "authentication",
  },
  { patch: "machine: {kubelet: {nodeIP: {validSubnets: 10.0.0.0/8}}}", says: "list" },
  { patch: "machine: {kubelet: {nodeIP: {validSubnets: [lan]}}}", says: "subnet" },
  { patch: "machine: {kubelet: kubelet}", says: "mapping" },
  { patch: "machine: {network: {hostname: [a]}}", says: "text" },
  { patch: "machine: {network: {hostname: gpu_1}}", says: "host name" },
  { patch: "machine: {network: {nameservers: 1.1.1.1}}", says: "list" },
  { patch: "machine: {network: {nameservers: [1.1.1]}}", says: "IP address" },
  { patch: "machine: {network: {nameservers: [dns.example.org]}}", says: "IP address" },
  { patch: "machine: {network: {interfaces: [{dhcp: true}]}}", says: "names no interface" },
  {
    patch: "machine: {network: {interfaces: [{interface: a, deviceSelector: {physical: true}}]}}",
    says: "one of the two",
  },
  { patch: "machine: {network: {interfaces: {eth0: {dhcp: true}}}}", says: "list" },
  {
    patch:
      "machine: {network: {interfaces: [{interface: b, bond: {mode: lacp, interfaces: [a]}}]}}",
    says: "802.3ad",
  },
  {
    patch: "machine: {network: {extraHostEntries: [{ip: registry, aliases: [a]}]}}",
    says: "IP address",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, mtu: '9000'}]}}",
    says: "without quotes",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, mtu: 1.5}]}}",
    says: "whole number",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, mtu: big}]}}",
    says: "whole number",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, dhcp: maybe}]}}",
    says: "true or false",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, addresses: 10.0.0.1/24}]}}",
    says: "list",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, addresses: [10.0.0.256/24]}]}}",
    says: "IP address",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, addresses: [10.0.0.1/33]}]}}",
    says: "IP address",
  },
  { patch: "machine: {install: {diskSelector: {size: big}}}", says: "not a disk size" },
  {
    patch: "machine: {install: {extraKernelArgs: [a], grubUseUKICmdline: true}}",
    says: "extraKernelArgs and grubUseUKICmdline",
  },
  {
    patch: "machine: {features: {hostDNS: {enabled: false, forwardKubeDNSToHost: true}}}",
    says: "without enabled",
  },
  { patch: "machine: {systemDiskEncryption: {state: {provider: luks9}}}", says: "luks2" },
  {
    patch: yaml`
        machine:
          systemDiskEncryption:
            state: { keys: [{ slot: 0, nodeID: {} }, { slot: 0, tpm: {} }] }
      `,
    says: "slot 0 twice",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, routes: [{metric: 5}]}]}}",
    says: "neither network nor gateway",
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces: [{ interface: eth0, cidr: 10.0.0.1/24, addresses: [10.0.0.2/24] }]
      `,
    says: "cidr and addresses",
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - interface: eth0
                vlans: [{ vlanId: 5, cidr: 10.0.0.1/24, addresses: [10.0.0.2/24] }]
      `,
    says: "cidr and addresses",
  },
  { patch: talosDocument("ZswapConfig", "maxPoolPercent: 250"), says: "out of range" },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: data",
      "provisioning: {diskSelector: {match: system_disk}, minSize: 10GB, maxSize: 1GB}",
    ),
    says: "minSize above its maxSize",
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: data",
      "provisioning: {diskSelector: {match: system_disk}, minSize: 1GB, maxSize: 180%}",
    ),
    says: "not a size",
  },
  {
    patch: talosDocument(
      "UserVolumeConfig",
      "name: a",
      "volumeType: directory",
      "filesystem: {type: xfs}",
    ),
    says: "directory, which cannot have filesystem",
  },
  {
    talosMinor: 13,
    patch: talosDocument("EnvironmentConfig", "variables: {a-b: c}"),
    says: "not valid for a variable",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: 5000}]}]}}",
    says: "out of range",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, vlans: [{vlanId: -1}]}]}}",
    says: "negative",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, vip: 10.0.0.9}]}}",
    says: "mapping",
  },
  {
    patch: "machine: {network: {interfaces: [{interface: eth0, vip: {ip: 10.0.0}}]}}",
    says: "IP address",
  },
  {
    patch: yaml`
        machine:
          network:
            interfaces:
              - { interface: eth0, routes: [{ network: default, gateway: 10.0.0.1 }] }
      `,
    says: "network",
  },
  { patch: "machine: {time: {bootTimeout: 120}}", says: "duration" },
  { patch: "machine: {time: {servers: pool.ntp.org}}", says: "list" },
  {
    patch: "machine: {files: [{path: /var/a, permissions: '0644', op: create, content: a}]}",
    says: "without quotes",
  },
  { patch: "machine: {files: {path: /var/a}}", says: "list" },
  {
    patch: "machine: {files: [{path: /var/a, mode: 0o644, op: create, content: a}]}",
    says: "mode",
  },
  { patch: "machine: {nodeLabels: {'a b': c}}", says: "label" },
  { patch: "machine: {nodeLabels: {a: 'b c'}}", says: "label" },
  { patch: "machine: {nodeLabels: [a=b]}", says: "mapping" },
  { patch: "machine: {certSANs: gpu.example.org}", says: "list" },
  { patch: "machine: {registries: {mirrors: {docker.io: ['https://a']}}}", says: "mapping" },
  {
    patch: "machine: {registries: {mirrors: {docker.io: {endpoints: 'https://a'}}}}",
    says: "list",
  },
  {
    patch: "machine: {registries: {mirrors: {docker.io: {endpoints: [mirror.local]}}}}",
    says: "URL",
  },
  { patch: "machine: {type: master}", says: "controlplane, worker" },
  { patch: "machine: {install: {wipe: 'no way'}}", says: "true or false" },
  { patch: "machine: {install: {diskSelector: {type: flash}}}", says: "nvme" },
  {
    patch: "machine: {disks: [{device: sdb, partitions: [{mountpoint: /var/mnt/a}]}]}",
    says: "absolute",
  },
  {
    patch: yaml`
        machine:
          disks:
            - { device: /dev/sdb, partitions: [{ mountpoint: /var/mnt/a, size: huge }] }
      `,
    says: "size",
  },
  {
    patch: "machine: {logging: {destinations: [{endpoint: 'tcp://a:1', format: xml}]}}",
    says: "json_lines",
  },
  { patch: "machine: {ca: {crt: 'not base64 !'}}", says: "base64" },
  { patch: "machine: nothing", says: "mapping" },
  { patch: "machine: [a]", says: "mapping" },
  // Values under cluster.
  { patch: "cluster: {network: {cni: {name: cilium}}}", says: "flannel, custom, none" },
  { patch: "cluster: {network: {cni: none}}", says: "mapping" },
  { patch: "cluster: {network: {cni: {name: none, urls: ['https://a']}}}", says: "urls" },
  { patch: "cluster: {network: {podSubnets: 10.244.0.0/16}}", says: "list" },
  { patch: "cluster: {network: {podSubnets: [10.244.0.0]}}", says: "prefix length" },
  { patch: "cluster: {controlPlane: {endpoint: 10.0.0.2}}", says: "https://" },
  { patch: "cluster: {proxy: {disabled: 'yes please'}}", says: "true or false" },
  { patch: "cluster: {inlineManifests: [{name: '', contents: a}]}", says: "empty" },
  {
    patch: "cluster: {inlineManifests: [{name: a, contents: a}, {name: a, contents: b}]}",
    says: "two manifests",
  },
  { patch: "cluster: {inlineManifests: [{name: a, contents: {kind: Namespace}}]}", says: "text" },
  { patch: 'cluster: {inlineManifests: [{name: a, contents: "a: [b"}]}', says: "YAML" },
  { patch: "cluster: {adminKubeconfig: {certLifetime: forever}}", says: "duration" },
  { patch: "cluster: {apiServer: {certSANs: a}}", says: "list" },
  // Directives of patches, anchors and merge keys.
  { patch: "machine: {kubelet: {$patch: replace}}", says: "the only value that Talos knows" },
  { patch: "machine: {network: {interfaces: [{$patch: delete}]}}", says: "does not name the item" },
  { patch: "cluster: {apiServer: {admissionControl: {$$patch: delete}}}", says: "one dollar" },
  { patch: "machine: {files: [{path: /a, $$patch: delete}]}", says: "one dollar" },
  {
    patch: yaml`
        machine:
          kubelet: &a {image: 'a:v1'}
          install:
            <<: *a
      `,
    says: "merge key",
  },
  {
    patch: yaml`
        machine:
          kubelet: &a {disableManifestsDirectory: true}
          time: *a
      `,
    says: "not a field",
  },
  // Documents that are new in Talos 1.14.
  { talosMinor: 14, patch: talosDocument("KubeNodeConfig", "labels: {'a b': c}"), says: "label" },
  {
    talosMinor: 14,
    patch: talosDocument("KubeNodeConfig", "taints: {gpu: 'x:NoSchedul'}"),
    says: "taint",
  },
  {
    talosMinor: 14,
    patch: talosDocument("KubeletConfig", "image: 'a:v1'", "config: {staticPodPath: /a}"),
    says: "only Talos may set",
  },
  {
    talosMinor: 14,
    patch: talosDocument("KubeletConfig", "image: 'a:v1'", "clusterDNS: [dns]"),
    says: "IP address",
  },
  {
    talosMinor: 14,
    patch: talosDocument("CRICustomizationConfig", "name: mine", "content: '[plugins'"),
    says: "TOML",
  },
];
