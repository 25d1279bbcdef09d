import { parseAllDocuments } from "yaml";
import { ownVolumes } from "../../facts/data/since.json";
import { isMapping } from "../../mapping";
import { parseToml } from "../containerd/containerd";
import { asText } from "../user-patches";
import { isSize } from "./values";
import * as rule from "./value-rules";

/** Which rule a field has, e.g. `v1alpha1.Device.addresses[]`. */
const rules: Record<string, rule.Rule> = {
  "v1alpha1.NetworkConfig.interfaces[]": rule.device,
  "v1alpha1.Device.routes[]": rule.route,
  "v1alpha1.Vlan.routes[]": rule.route,
  "v1alpha1.Device.vlans[]": rule.mapping(rule.cidrOrAddresses),
  "v1alpha1.NetworkConfig.nameservers[]": rule.address,
  "v1alpha1.NetworkConfig.hostname": rule.host,
  "v1alpha1.ExtraHost.ip": rule.address,
  "v1alpha1.Device.addresses[]": rule.network,
  "v1alpha1.Device.cidr": rule.prefix,
  "v1alpha1.Device.mtu": rule.range(0, 65536),
  "v1alpha1.Vlan.addresses[]": rule.network,
  "v1alpha1.Vlan.cidr": rule.prefix,
  "v1alpha1.Vlan.vlanId": rule.range(0, 4094),
  "v1alpha1.DeviceVIPConfig.ip": rule.address,
  "v1alpha1.Route.network": rule.network,
  "v1alpha1.Route.gateway": rule.address,
  "v1alpha1.Route.source": rule.network,
  "v1alpha1.Bond.mode": rule.words(
    ...["balance-rr", "active-backup", "balance-xor", "broadcast", "802.3ad", "balance-tlb", "balance-alb"],
  ),
  "v1alpha1.Bond.xmitHashPolicy": rule.words("layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"),
  "v1alpha1.Bond.lacpRate": rule.words("slow", "fast"),
  "v1alpha1.Bond.primaryReselect": rule.words("always", "better", "failure"),
  "v1alpha1.Bond.adSelect": rule.words("stable", "bandwidth", "count"),
  "v1alpha1.Bond.failOverMac": rule.words("none", "active", "follow"),
  "v1alpha1.KubeletNodeIPConfig.validSubnets[]": rule.subnet,
  "v1alpha1.KubeletConfig.extraConfig": rule.kubeletConfig,
  "v1alpha1.KubeletConfig.clusterDNS[]": rule.address,
  "v1alpha1.KubeletConfig.image": rule.image,
  "v1alpha1.ExtraMount.destination": rule.absolute,
  "v1alpha1.EtcdConfig.advertisedSubnets[]": rule.subnet,
  "v1alpha1.EtcdConfig.listenSubnets[]": rule.subnet,
  "v1alpha1.EtcdConfig.image": rule.image,
  "v1alpha1.APIServerConfig.image": rule.image,
  "v1alpha1.ClusterNetworkConfig.podSubnets[]": rule.prefix,
  "v1alpha1.ClusterNetworkConfig.serviceSubnets[]": rule.prefix,
  "v1alpha1.ClusterNetworkConfig.dnsDomain": rule.host,
  "v1alpha1.ClusterNetworkConfig.cni": rule.cni,
  "v1alpha1.ClusterConfig.inlineManifests": (value) => {
    const twice = rule.repeated(Array.isArray(value) ? value.filter(isMapping).map((item) => item["name"]) : []);
    return twice !== undefined && [`has two manifests named ${asText(twice)}`, "give each a name of its own"];
  },
  "v1alpha1.ClusterInlineManifest.name": (value) => value === "" && ["is empty", "write it"],
  "v1alpha1.ClusterInlineManifest.contents": (value) => {
    const documents = typeof value === "string" ? parseAllDocuments(value, { logLevel: "error" }) : [];
    const error = (Array.isArray(documents) ? documents : []).flatMap((document) => document.errors)[0];
    return error && ["is no YAML", `mend it (line ${error.linePos?.[0].line ?? 1} of it)`];
  },
  "v1alpha1.ClusterConfig.extraManifests[]": rule.url("https", "http"),
  "v1alpha1.KernelModuleConfig.name": rule.text(
    (word) => /^[\w-]+$/.test(word),
    "is not a module name",
    "write e.g. nvidia",
  ),
  "v1alpha1.MachineFile.path": rule.absolute,
  "v1alpha1.MachineFile.permissions": rule.range(0, 0o7777),
  "v1alpha1.MachineConfig.nodeLabels": rule.labels,
  "v1alpha1.MachineConfig.nodeAnnotations": rule.annotations,
  "v1alpha1.MachineConfig.nodeTaints": rule.taints,
  "v1alpha1.MachineDisk.device": rule.absolute,
  "v1alpha1.DiskPartition.mountpoint": rule.absolute,
  "v1alpha1.DiskPartition.size": rule.size,
  "v1alpha1.MachineConfig.install": rule.mapping(
    (value) =>
      value["grubUseUKICmdline"] === true &&
      Array.isArray(value["extraKernelArgs"]) && [
        "has extraKernelArgs and grubUseUKICmdline",
        "write the arguments under kernelArgs",
      ],
  ),
  "v1alpha1.InstallConfig.disk": rule.absolute,
  // With an operator before it (v1alpha1_types.go, InstallDiskSizeMatcher).
  "v1alpha1.InstallDiskSelector.size": rule.text(
    (value) => isSize(value.replace(/^\s*(>=|<=|>|<|==)?\s*/, "")),
    "is not a disk size",
    "write e.g. `<= 2TB`",
  ),
  "v1alpha1.EncryptionConfig.provider": rule.words("luks2"),
  "v1alpha1.EncryptionConfig.keys": rule.keySlots,
  "v1alpha1.RegistryMirrorConfig.endpoints[]": rule.url("https", "http"),
  "v1alpha1.LoggingDestination.endpoint": rule.url("tcp", "udp", "http", "https"),
  "v1alpha1.FeaturesConfig.nodeAddressSortAlgorithm": rule.words("v1", "v2", "V1", "V2"),
  "v1alpha1.KubePrism.port": rule.range(1, 65535),
  "v1alpha1.FeaturesConfig.hostDNS": rule.mapping(
    (value) =>
      value["forwardKubeDNSToHost"] === true &&
      value["enabled"] === false && [
        "has forwardKubeDNSToHost without enabled",
        "write enabled: true, or leave both out",
      ],
  ),
  "network.VLANConfigV1Alpha1.vlanID": rule.range(1, 4094),
  "network.RulePortSelector.ports[]": rule.ports,
  "network.StaticHostConfigV1Alpha1.name": rule.address,
  HostnameConfig: rule.mapping(({ hostname, auto }) =>
    hostname && auto && auto !== "off" ? ["has hostname and auto", "leave one of the two out"] : undefined,
  ),
  "network.HostnameConfigV1Alpha1.hostname": rule.host,
  // A volume that is a folder of the EPHEMERAL one has nothing of its own (types/block/user_volume_config.go).
  UserVolumeConfig: rule.mapping((value) => {
    const own = ["provisioning", "encryption", "filesystem"].filter((key) => isMapping(value[key])).join(", ");
    return value["volumeType"] === "directory" && own !== "" && [`is a directory with ${own}`, `leave ${own} out`];
  }),
  "block.VolumeConfigV1Alpha1.provisioning": rule.provisioning,
  "block.UserVolumeConfigV1Alpha1.provisioning": rule.provisioning,
  "block.RawVolumeConfigV1Alpha1.provisioning": rule.provisioning,
  "block.SwapVolumeConfigV1Alpha1.provisioning": rule.provisioning,
  "block.EncryptionSpec.keys": rule.keySlots,
  "block.EncryptionKeyTPMOptions.pcrs[]": rule.range(0, 23),
  "block.ZswapConfigV1Alpha1.maxPoolPercent": rule.range(0, 100),
  "runtime.EnvironmentV1Alpha1.variables": rule.mapping((value) => {
    const wrong = Object.keys(value).find((key) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(key));
    return wrong !== undefined && [`has a name that no variable can have (${wrong})`, "write letters, digits and _"];
  }),
  "block.ProvisioningSpec.minSize": rule.size,
  "block.ProvisioningSpec.maxSize": rule.text(
    (value) => /^(100(\.0+)?|\d{1,2}(\.\d+)?)%$/.test(value) || isSize(value.replace(/^-/, "")),
    "is not a size",
    "write e.g. 50GiB or 80%",
  ),
  "block.UserVolumeConfigV1Alpha1.name": rule.volumeName,
  "block.RawVolumeConfigV1Alpha1.name": rule.volumeName,
  // Its label is not made from the name, so it has no limit (existing_volume_config.go).
  "block.ExistingVolumeConfigV1Alpha1.name": rule.text(
    (name) => /^[A-Za-z0-9-]+$/.test(name),
    "is not a volume name",
    "write letters, digits and hyphens",
  ),
  "block.SwapVolumeConfigV1Alpha1.name": rule.volumeName,
  "block.VolumeConfigV1Alpha1.name": (value, minor) =>
    rule.words(...Object.entries(ownVolumes.since).flatMap(([name, since]) => (minor >= since ? [name] : [])))(
      value,
      minor,
    ),
  "block.DiskSelector.match": rule.expression,
  "block.VolumeSelector.match": rule.expression,
  "network.LinkSelector.match": rule.expression,
  "runtime.WatchdogTimerV1Alpha1.device": rule.absolute,
  "runtime.OOMV1Alpha1.triggerExpression": rule.expression,
  "runtime.OOMV1Alpha1.cgroupRankingExpression": rule.expression,
  "extensions.ServiceConfigV1Alpha1.environment[]": rule.text(
    (value) => /^[^=\s]+=/.test(value),
    "is not a variable",
    "write NAME=value",
  ),
  "extensions.ConfigFile.mountPath": rule.absolute,
  "k8s.KubeNodeConfigV1Alpha1.labels": rule.labels,
  "k8s.KubeNodeConfigV1Alpha1.annotations": rule.annotations,
  "k8s.KubeNodeConfigV1Alpha1.taints": rule.taints,
  "k8s.KubeletConfigV1Alpha1.config": rule.kubeletConfig,
  "k8s.KubeletConfigV1Alpha1.clusterDNS[]": rule.address,
  "k8s.KubeletConfigV1Alpha1.image": rule.image,
  // talos v1.14.0-rc.1, types/cri/customization.go.
  "cri.CRICustomizationConfigV1Alpha1.content": (value) => {
    const { error } = parseToml(asText(value));
    return error !== undefined && [`is not TOML: ${error}`, "correct it"];
  },
};

/** Flaw of a value at a field, e.g. `v1alpha1.Device.addresses[]`, on a minor of Talos. */
export function valueFlaw(field: string, minor: number, value: unknown): rule.ValueFlaw | undefined {
  return (Object.hasOwn(rules, field) && rules[field]!(value, minor)) || undefined;
}
