// Package host is the interface between a machine and the kubelet emulation on it. It has what a kubelet may read of
// its machine, and the little that it may change.
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

// Machine is an emulated Talos machine, as software on it sees the machine.
type Machine interface {
	Key() string  // the lab's name of the machine, which never changes
	Name() string // the host name since the last boot, and the name of the node
	// Address is the address of the machine's Talos API in the stack, e.g. 192.168.1.224.
	Address() string
	Role() string       // "controlplane" or "worker"
	Snapshot() Snapshot // a consistent copy of the machine's state
	// Watch signals at once and then after changes (several changes may share a signal). When ctx ends, it closes the
	// channel.
	Watch(ctx context.Context) <-chan struct{}
	// RootFS is the folder that represents the machine's file system. Every boot empties /run, /etc and /proc. /proc
	// shows the NVIDIA driver while it is loaded.
	RootFS() string
	// Event records an event of the machine for the lab's report.
	Event(format string, args ...any)
	Clock() *clock.Clock // the lab's clock
}

// Injection says how a Talos release injects cards into containers.
type Injection string

const (
	// InjectionLegacy is Talos <= 1.12: libraries under /usr/local/glibc, no CDI specification.
	InjectionLegacy Injection = "legacy"
	// InjectionCDI is Talos >= 1.13: libraries under /usr/local, CDI specification in /run/cdi/nvidia.yaml.
	InjectionCDI Injection = "cdi"
	// InjectionNRI is Talos >= 1.15: libraries under /usr/local, and no part of the container toolkit.
	InjectionNRI Injection = "nri"
)

// Release returns minor and patch of a Talos 1.x release, or zeros for other text. A pre-release counts as its release.
func Release(version string) (minor, patch int) {
	_, _ = fmt.Sscanf(version, "v1.%d.%d", &minor, &patch)
	return minor, patch
}

// Minor returns the minor of a Talos 1.x release.
func Minor(version string) int {
	minor, _ := Release(version)
	return minor
}

// InjectionOf returns how a Talos release injects cards (siderolabs/extensions c5480f9, Talos 1.13; #1222, Talos 1.15).
func InjectionOf(version string) Injection {
	switch minor := Minor(version); {
	case minor >= 15:
		return InjectionNRI
	case minor >= 13:
		return InjectionCDI
	}
	return InjectionLegacy
}

// Extension is a system extension of the running image.
type Extension struct {
	Name      string // without the organisation, e.g. nvidia-container-toolkit-production
	Version   string // as in the tag of the extension's image, e.g. 570.211.01-v1.18.2
	Reference string // of the extension's image
}

// GPU is a kind of card in the machine.
type GPU struct {
	Model     string `json:"model"`
	PCIDevice string `json:"pciDevice"` // NFD's class and vendor, e.g. 0300_10de
	// PCIID is the device ID, e.g. 2c05, or "" if the tables lack it. PCIName is the name in pci.ids.
	PCIID             string  `json:"pciId"`
	PCIName           string  `json:"pciName"`
	Count             int     `json:"count"`
	MemoryMiB         int     `json:"memoryMiB"`
	ComputeCapability string  `json:"computeCapability"`
	MinPowerW         float64 `json:"minPowerW"`
	MaxPowerW         float64 `json:"maxPowerW"`
	DefaultPowerW     float64 `json:"defaultPowerW"`
	// MIG is the card's MIG geometry. It is nil for a card without MIG.
	MIG *MIG `json:"mig,omitempty"`
}

// MIG is the multi-instance geometry of a card.
type MIG struct {
	// Profiles has the maximum number of instances of each profile on one card, e.g. 1g.12gb: 7.
	Profiles map[string]int `json:"profiles"`
	// Balanced has the instances that mig-parted's all-balanced makes on one card.
	Balanced map[string]int `json:"balanced"`
	// ModeNeedsReset says that a change of the mode needs a reset of the card. Then the mode persists over reboots.
	ModeNeedsReset bool `json:"modeNeedsReset"`
}

// Snapshot is the state of a machine at one moment. The caller owns its maps and slices.
type Snapshot struct {
	BootID       string // changes with every boot
	TalosVersion string // of the running release, e.g. v1.12.6
	// KubernetesVersion is the version of the kubelet's image in the configuration, e.g. v1.35.0.
	KubernetesVersion string
	Injection         Injection
	Extensions        []Extension // of the running image
	Modules           []string    // loaded modules, with the names of /proc/modules (nvidia_uvm)
	// DriverVersion is the version of the loaded NVIDIA kernel modules that drive the cards, or "" if the driver is not
	// loaded.
	DriverVersion string
	// LibraryVersion is the version of NVIDIA's user-space libraries, which are in the toolkit extension, or "" without
	// it. If it differs from DriverVersion, NVIDIA's programs report "Driver/library version mismatch".
	LibraryVersion string
	GPUs           []GPU             // built into the machine, with or without a driver
	Sysctls        map[string]string // those that the configuration sets
	// CRIParts has the rendered files of /etc/cri/conf.d that are in effect, by file name.
	CRIParts       map[string]string
	Runtimes       []string // containerd's runtime handlers, e.g. runc, nvidia
	NRI            bool     // whether containerd accepts NRI plugins
	DefaultRuntime string   // the handler of pods without a RuntimeClass
	On             bool     // whether the machine has power and its API answers; false between two boots
	KubeletRunning bool     // whether the kubelet's service is up
	// NodeWants is what Talos wants on the node: values by `label KEY` and `annotation KEY`, and `value:Effect` by
	// `taint KEY`.
	NodeWants map[string]string
	// RegisterWithTaints are the taints of machine.kubelet.extraConfig. The kubelet uses them only when it first
	// registers the node.
	RegisterWithTaints []corev1.Taint
	Config             config.Provider // the active machine configuration; must not be changed
}

// Toolkit returns the release of NVIDIA's container toolkit in the running image, e.g. 1.18.2. It is the last part of
// the extension's version, after the driver's: 570.211.01-v1.18.2. The result is "" without the extension, or if its
// version has no such part.
func (s Snapshot) Toolkit() string {
	for _, extension := range s.Extensions {
		if strings.HasPrefix(extension.Name, "nvidia-container-toolkit") {
			_, release, _ := strings.Cut(extension.Version, "-v")
			return release
		}
	}
	return ""
}

// EachBoot calls start for every boot of a machine whose kubelet runs. It calls stop when that boot or ctx ends, and
// changed after every change of the machine in between.
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

// Identifier returns a UUID for a part of a machine, e.g. gpu-0. It is the same in every lab.
func Identifier(machine, what string) string {
	sum := sha256.Sum256([]byte(machine + "/" + what))
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
