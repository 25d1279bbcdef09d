package configuration

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/siderolabs/talos/pkg/machinery/config"
)

// HostnameOf is what a machine calls itself after a boot with a configuration, and what its kubelet registers the node by: the
// configuration's name, else one that Talos makes of the machine's identity (talos v1.13.0
// internal/app/machined/pkg/controllers/network/hostname_config.go). DHCP gives no names here.
func HostnameOf(active config.Provider, key string) string {
	if named := active.NetworkHostnameConfig(); named != nil && named.Hostname() != "" {
		return named.Hostname()
	}

	sum := sha256.Sum256([]byte(key))
	id := hex.EncodeToString(sum[:])

	return "talos-" + id[:3] + "-" + id[3:6]
}
