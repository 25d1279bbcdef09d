package configuration

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	yaml "go.yaml.in/yaml/v4"
)

// documentsFrom is the first minor of Talos that has documents for most fields of v1alpha1.
const documentsFrom = 14

// kindsSince has the kinds of documents that are newer than Talos 1.8, by the first minor that has them (talos,
// pkg/machinery/config/types of release-1.8 to v1.14.1, each registry.Register). A test compares it with the package's
// table.
var kindsSince = map[int][]string{
	10: {
		"EthernetConfig", "PCIDriverRebindConfig", "UserVolumeConfig",
	},
	11: {
		"ExistingVolumeConfig", "RawVolumeConfig", "SwapVolumeConfig", "ZswapConfig",
	},
	12: {
		"BondConfig", "BridgeConfig", "DHCPv4Config", "DHCPv6Config", "DummyLinkConfig", "HCloudVIPConfig",
		"HostnameConfig", "Layer2VIPConfig", "LinkAliasConfig", "LinkConfig", "OOMConfig", "RegistryAuthConfig",
		"RegistryMirrorConfig", "RegistryTLSConfig", "ResolverConfig", "StaticHostConfig", "TimeSyncConfig", "VLANConfig",
		"WireguardConfig",
	},
	13: {
		"BlackholeRouteConfig", "EnvironmentConfig", "ExternalVolumeConfig", "ImageVerificationConfig", "KubeSpanConfig",
		"RoutingRuleConfig", "TCPProbeConfig", "VRFConfig",
	},
	14: {
		"BGPInstanceConfig", "CRIBaseRuntimeSpecConfig", "CRICustomizationConfig", "ContainerConfig",
		"DiscoveryIdentityConfig", "DiscoveryServiceConfig", "EtcFileConfig", "FilesystemScrubConfig",
		"FilesystemTrimConfig", "HTTPProbeConfig", "ImageCacheConfig", "KernelModuleConfig", "KubeAPIServerCAConfig",
		"KubeAPIServerConfig", "KubeAdmissionControlConfig", "KubeAggregatorCAConfig", "KubeAuditPolicyConfig",
		"KubeAuthenticationConfig", "KubeAuthorizerConfig", "KubeClusterConfig", "KubeControllerManagerConfig",
		"KubeCoreDNSConfig", "KubeCredentialProviderConfig", "KubeEtcdEncryptionConfig", "KubeExternalManifestConfig",
		"KubeFlannelCNIConfig", "KubeInlineManifestConfig", "KubeNetworkConfig", "KubeNodeConfig", "KubePrismConfig",
		"KubeProxyConfig", "KubeSchedulerConfig", "KubeServiceAccountConfig", "KubeStaticPodConfig",
		"KubeTalosAPIAccessConfig", "KubeletConfig", "LVMLogicalVolumeConfig", "LVMVolumeGroupConfig", "RAIDArrayConfig",
		"SecurityProfileConfig", "SysctlConfig", "SysfsConfig", "UdevRulesConfig", "UnattendedInstallConfig",
	},
}

// sinceOf is the first minor of each kind.
var sinceOf = func() map[string]int {
	since := map[string]int{}
	for minor, kinds := range kindsSince {
		for _, kind := range kinds {
			since[kind] = minor
		}
	}
	return since
}()

// unknownKind returns a release's error for the first document of a kind that the release does not know (talos v1.13.0
// config/configloader/internal/decoder/decoder.go and config/internal/registry). The loader reports text that is not
// YAML.
func unknownKind(data []byte, minor int) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) || err != nil {
			return nil //nolint:nilerr // the loader returns a better error
		}
		for _, node := range document.Content {
			var meta struct {
				APIVersion string `yaml:"apiVersion"`
				Kind       string `yaml:"kind"`
				Name       string `yaml:"name"`
			}
			if err := node.Decode(&meta); err == nil && sinceOf[meta.Kind] > minor {
				return fmt.Errorf("error decoding document %s/%s/%s (line %d): %q %q: not registered", meta.APIVersion, meta.Kind, meta.Name, node.Line, meta.Kind, meta.APIVersion)
			}
		}
	}
}
