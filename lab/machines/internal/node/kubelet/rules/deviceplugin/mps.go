package deviceplugin

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/kubelet/smi"
	"talos-gpu/lab/machines/internal/node/kubelet/version"
)

// Paths of MPS (k8s-device-plugin v0.20.0 cmd/mps-control-daemon/mps/root.go): a folder per resource below the root, which is
// /mps in the containers of daemon, plugin and clients.
const (
	mpsInside       = "/mps"
	mpsPipeVariable = "CUDA_MPS_PIPE_DIRECTORY"
)

func mpsPipe(root, resource string) string { return filepath.Join(root, resource, "pipe") }

// mpsRetry is how long daemon and plugin wait after a start that failed (cmd/nvidia-device-plugin/main.go).
const mpsRetry = 30 * time.Second

// controlPipe stands for the pipe over which nvidia-cuda-mps-control answers.
func controlPipe(pipes string) string { return filepath.Join(pipes, "control") }

// What the control pipe's stand-in holds: whether the daemon's server comes up. In a process namespace of its own, the server
// does not find itself in /proc of a driver that runs in the host's (k8s-device-plugin#1045, dra-driver-nvidia-gpu#115).
const (
	serverServes = "serves"
	serverLost   = "lost"
)

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// awaitMPS is the plugin's wait for the control daemon (internal/plugin/mps.go, waitForDaemon): it starts no resource before
// the daemon answers, and tries again every 30 seconds. False when ctx ended first.
func awaitMPS(ctx context.Context, c *cri.Container, wanted offer, resources map[string][]device) bool {
	for name := range resources {
		for wanted.mps && !exists(controlPipe(c.Paths.Resolve(mpsPipe(mpsInside, name)))) {
			c.Logf("Failed to start plugin: error waiting for MPS daemon: error checking MPS daemon health: failed to send command to MPS daemon: exit status 1")
			c.Logf("Failed to start one or more plugins. Retrying in 30s...")
			if c.Machine.Clock().Sleep(ctx, mpsRetry) != nil {
				return false
			}
		}
		if wanted.mps {
			c.Logf("MPS daemon is healthy resource=%q", name)
		}
	}
	return true
}

// ControlMPS is cmd/mps-control-daemon: `mount-shm` prepares the shared memory, and the daemon itself sets the cards to
// EXCLUSIVE_PROCESS and starts nvidia-cuda-mps-control, until it is stopped.
func ControlMPS(ctx context.Context, c *cri.Container) int {
	root := c.Paths.Resolve(mpsInside)
	if slices.Contains(c.Argv, "mount-shm") {
		if !cri.MayAdminister(c.Spec.SecurityContext) {
			c.Logf("error mounting /mps/shm as tmpfs: permission denied")
			return 1
		}
		if err := os.MkdirAll(filepath.Join(root, "shm"), 0o755); err != nil {
			c.Logf("%v", err)
			return 1
		}
		return 0
	}
	c.Logf("Starting Daemons.\nLoading configuration.")
	text, err := configFile(c)
	if err != nil {
		c.Logf("error starting plugins: %v", err)
		return 1
	}
	wanted, err := parsePluginConfig(text, c.Env)
	if err != nil {
		c.Logf("error starting plugins: %v", err)
		return 1
	}
	if !SeesNVML(c) {
		c.Logf("error starting plugins: error getting daemons: failed to initialize NVML: ERROR_LIBRARY_NOT_FOUND")
		return 1
	}
	cards := visibleCards(c)
	resources, err := deviceMap(wanted, cards)
	if err != nil {
		c.Logf("error starting plugins: error getting daemons: error building device map: %v", err)
		return 1
	}
	if most := mpsClients(cards); wanted.mps && wanted.replicas > most {
		c.Logf("error starting plugins: error getting daemons: invalid MPS configuration: invalid device maximum allowed replicas exceeded: %d > %d", wanted.replicas, most)
		return 1
	}
	settings := smi.SettingsOf(c.Machine.RootFS())
	var stop []func()
	defer func() {
		for _, each := range stop {
			each()
		}
	}()
	if !wanted.mps {
		c.Logf("No devices are configured for MPS sharing; Waiting indefinitely.")
		resources = nil
	}
	for name := range resources {
		for _, card := range cards {
			if err := settings.SetComputeMode(card, smi.ComputeExclusive); err != nil {
				c.Logf("Failed to start MPS daemon: error setting compute mode EXCLUSIVE_PROCESS: %v", err)
				return 1
			}
			stop = append(stop, func() { _ = settings.SetComputeMode(card, smi.ComputeDefault) })
		}
		pipes := mpsPipe(root, name)
		c.Logf("Staring MPS daemon resource=%q", name)
		if c.Machine.Clock().Sleep(ctx, time.Second) != nil {
			return 143
		}
		serves := serverServes
		if !c.Pod.Spec.HostPID {
			serves = serverLost
		}
		if err := write(controlPipe(pipes), serves); err != nil {
			c.Logf("Failed to start MPS daemon: %v", err)
			return 1
		}
		stop = append(stop, func() { _ = os.Remove(controlPipe(pipes)) })
	}
	ready := filepath.Join(root, ".ready")
	if err := write(ready, ""); err != nil {
		c.Logf("%v", err)
		return 1
	}
	stop = append(stop, func() { _ = os.Remove(ready) })
	<-ctx.Done()
	return 143
}

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// mpsClients of the weakest card: 48, and 16 below compute capability 7.5 (cmd/mps-control-daemon/mps/device.go).
func mpsClients(cards []gpu.Card) int {
	for _, card := range cards {
		if version.Compare(card.ComputeCapability, "7.5") < 0 {
			return 16
		}
	}
	return 48
}

// MPSError is why a CUDA program cannot use a card that is shared by MPS; "" when it can. A card in exclusive mode belongs to
// the MPS server, and only its clients reach it (docs.nvidia.com/deploy/mps, "Compute Modes"; cudaError 805, 806 and 46).
func MPSError(c *cri.Container) string {
	if pipes := c.Env[mpsPipeVariable]; pipes != "" {
		if !strings.HasPrefix(pipes, c.Machine.RootFS()) {
			pipes = c.Paths.Resolve(pipes)
		}
		serves, err := os.ReadFile(controlPipe(pipes))
		if string(serves) == serverLost {
			return "the MPS server is not ready to accept new MPS client requests"
		}
		if err != nil {
			return "MPS client failed to connect to the MPS control daemon or the MPS server"
		}
		return ""
	}
	if smi.SettingsOf(c.Machine.RootFS()).ComputeMode(c.GPUs[0]) == smi.ComputeExclusive {
		return "CUDA-capable device(s) is/are busy or unavailable"
	}
	return ""
}
