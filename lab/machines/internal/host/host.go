// Package host is the seam between a machine and the kubelet emulation that runs on it: what a kubelet may see of its
// machine, and the little that it may change.
package host

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/siderolabs/talos/pkg/machinery/config"
	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/clock"
)

// Machine is one emulated Talos machine as software that runs on it sees it.
type Machine interface {
	Key() string  // what the lab calls the machine; it never changes
	Name() string // the machine's host name since its last boot, and the name of its node
	// Address is the address of the machine's Talos API in the stack, e.g. 192.168.1.224.
	Address() string
	Role() string       // "controlplane" or "worker"
	Snapshot() Snapshot // a consistent copy of the machine's state
	// Watch signals after each change (several changes may share a signal) until ctx ends; then the channel closes.
	// The first signal comes at once.
	Watch(ctx context.Context) <-chan struct{}
	// RootFS is a folder that stands for the machine's file system. Every boot empties /run, /etc and /proc, which shows the NVIDIA driver
	// while it is up.
	RootFS() string
	// Event records something that happened on the machine, for the lab's report.
	Event(format string, args ...any)
	Clock() *clock.Clock // the lab's clock
}

// Era says how NVIDIA's extensions lay out the driver.
type Era string

const (
	// EraLegacy is Talos <= 1.12: libraries under /usr/local/glibc, no CDI specification.
	EraLegacy Era = "legacy"
	// EraCDI is Talos >= 1.13: libraries under /usr/local, CDI specification in /run/cdi/nvidia.yaml.
	EraCDI Era = "cdi"
	// EraNRI is Talos >= 1.15: libraries under /usr/local, and nothing of the container toolkit.
	EraNRI Era = "nri"
)

// Release reads minor and patch of a Talos 1.x release; zeros where it is none. A pre-release counts as its release.
func Release(version string) (minor, patch int) {
	_, _ = fmt.Sscanf(version, "v1.%d.%d", &minor, &patch)
	return minor, patch
}

// Minor of a Talos 1.x release.
func Minor(version string) int {
	minor, _ := Release(version)
	return minor
}

// EraOf a Talos release (siderolabs/extensions c5480f9, Talos 1.13; #1222, Talos 1.15).
func EraOf(version string) Era {
	switch minor := Minor(version); {
	case minor >= 15:
		return EraNRI
	case minor >= 13:
		return EraCDI
	}
	return EraLegacy
}

// Extension is a system extension of the running image.
type Extension struct {
	Name      string // Name without the organisation, e.g. nvidia-container-toolkit-production.
	Version   string // Version as in the extension's image tag, e.g. 570.211.01-v1.18.2.
	Reference string // Reference of the extension's image
}

// GPU is a kind of card in the machine.
type GPU struct {
	Model     string `json:"model"`
	PCIDevice string `json:"pciDevice"` // NFD's class and vendor, e.g. 0300_10de
	// PCIID is its device ID, e.g. 2c05; "" where the tables do not have it. PCIName is what pci.ids calls it.
	PCIID             string  `json:"pciId"`
	PCIName           string  `json:"pciName"`
	Count             int     `json:"count"`
	MemoryMiB         int     `json:"memoryMiB"`
	ComputeCapability string  `json:"computeCapability"`
	MinPowerW         float64 `json:"minPowerW"`
	MaxPowerW         float64 `json:"maxPowerW"`
	DefaultPowerW     float64 `json:"defaultPowerW"`
	// MIG is how the card can be split; nil without multi-instance mode.
	MIG *MIG `json:"mig,omitempty"`
}

// MIG is a card's multi-instance geometry.
type MIG struct {
	// Profiles with the number of instances of one card, e.g. 1g.12gb: 7.
	Profiles map[string]int `json:"profiles"`
	// Balanced is what mig-parted's all-balanced makes of one card.
	Balanced map[string]int `json:"balanced"`
	// ModeNeedsReset says that a change of the mode waits for a reset of the card, and then outlasts reboots.
	ModeNeedsReset bool `json:"modeNeedsReset"`
}

// Snapshot is the state of a machine at one moment. Its maps and slices belong to the caller.
type Snapshot struct {
	BootID       string // BootID changes with every boot
	TalosVersion string // TalosVersion that runs, e.g. v1.12.6.
	// KubernetesVersion of the kubelet's image in the configuration, e.g. v1.35.0.
	KubernetesVersion string
	Era               Era
	Extensions        []Extension // Extensions of the running image
	Modules           []string    // Modules that are loaded, as /proc/modules names them (nvidia_uvm)
	// DriverVersion of the loaded NVIDIA kernel modules when they drive the cards; "" when the driver is not up.
	DriverVersion string
	// LibraryVersion of NVIDIA's user-space libraries, which come with the toolkit extension; "" without it. Different
	// from DriverVersion: "Driver/library version mismatch".
	LibraryVersion string
	GPUs           []GPU             // GPUs built into the machine, driven or not
	Sysctls        map[string]string // Sysctls that the configuration sets
	// CRIParts are the rendered /etc/cri/conf.d files that took effect, by file name.
	CRIParts       map[string]string
	Runtimes       []string // containerd's runtime handlers, e.g. runc, nvidia.
	NRI            bool     // NRI says that containerd takes plugins
	DefaultRuntime string   // the handler of pods without a RuntimeClass
	KubeletRunning bool     // KubeletRunning says that the kubelet's service is up
	// NodeWants is what Talos wants on the node: values by `label KEY` and `annotation KEY`, and `value:Effect` by `taint KEY`.
	NodeWants map[string]string
	// RegisterWithTaints are the taints of machine.kubelet.extraConfig, which count at the node's first registration.
	RegisterWithTaints []corev1.Taint
	Config             config.Provider // the active machine configuration; do not change it
}

// Toolkit is the release of NVIDIA's container toolkit in the running image, e.g. 1.18.2; "" without one, or where its extension does not tell.
// In the extension's version it follows the driver's: 570.211.01-v1.18.2.
func (s Snapshot) Toolkit() string {
	for _, extension := range s.Extensions {
		if strings.HasPrefix(extension.Name, "nvidia-container-toolkit") {
			_, release, _ := strings.Cut(extension.Version, "-v")
			return release
		}
	}
	return ""
}

// EachBoot starts something for every boot of a machine whose kubelet runs, and stops it when that boot or ctx ends. Meanwhile it
// receives every change of the machine.
func EachBoot(ctx context.Context, machine Machine, start func(Snapshot) (changed, stop func(), err error)) error {
	var changed, stop func()
	var boot string
	end := func() {
		if stop != nil {
			stop()
			stop = nil
		}
	}
	defer end()
	for range machine.Watch(ctx) {
		snapshot := machine.Snapshot()
		if !snapshot.KubeletRunning || snapshot.BootID != boot {
			end()
		}
		switch {
		case stop != nil:
			changed()
		case snapshot.KubeletRunning:
			var err error
			if changed, stop, err = start(snapshot); err != nil {
				return err
			}
			boot = snapshot.BootID
		}
	}
	return nil
}

// Identifier is a UUID for something of a machine, e.g. gpu-0. It stays the same from lab to lab.
func Identifier(machine, what string) string {
	sum := sha256.Sum256([]byte(machine + "/" + what))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
