package kubelet

import (
	"fmt"
	"strings"

	"talos-gpu/lab/machines/internal/host"
)

// nvidiaRuntime is the handler that the container toolkit's extension registers with containerd.
const nvidiaRuntime = "nvidia"

// injection is what a container gets of the NVIDIA driver.
type injection struct {
	gpus []GPU
	// libraries says that the driver's libraries and nvidia-smi are in the container.
	libraries bool
}

// request is what decides about an injection.
type request struct {
	// handler is the runtime of the pod.
	handler string
	// visible is the value of NVIDIA_VISIBLE_DEVICES, "" when unset.
	visible string
	// allocation is the device plugin's.
	allocation Allocation
	// monitor is the value of NVIDIA_MIG_MONITOR_DEVICES, "" when unset.
	monitor string
	// administrator says that the container has CAP_SYS_ADMIN.
	administrator bool
}

const createPrefix = "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: "

// inject decides what the runtime puts into a container; an error means that the container cannot be created.
//
//   - runc knows no NVIDIA. It honours CDI devices, which containerd resolves.
//   - nvidia, toolkit up to 1.17 (Talos <= 1.11): nvidia-container-cli as an OCI hook, driven by NVIDIA_VISIBLE_DEVICES.
//   - nvidia, toolkit from 1.18 on (Talos >= 1.12, whatever the layout of the libraries): mode jit-cdi, without hook and
//     without device filter (nvidia-container-toolkit v1.18.0 internal/info/auto.go).
func inject(cards []GPU, s host.Snapshot, r request) (injection, error) {
	var wanted []GPU
	var err error
	switch {
	case len(r.allocation.CDI) > 0:
		return injectCDI(cards, s, r.allocation.CDI)
	case r.handler != nvidiaRuntime:
		return injection{}, nil
	case len(r.allocation.VolumeMounts) > 0:
		wanted, err = selectGPUs(cards, strings.Join(r.allocation.VolumeMounts, ","))
	case r.visible == "" || r.visible == "void":
		return injection{}, nil
	case r.visible == "none": // the driver's utilities without a card
	default:
		wanted, err = selectGPUs(cards, r.visible)
	}
	if !jitCDI(s) {
		// The hook reads the variable before nvidia-container-cli looks at the driver (nvidia-container-toolkit v1.17.8
		// cmd/nvidia-container-runtime-hook/container_config.go, getNvidiaConfig). Mode jit-cdi, which 1.18 detects, has no hook.
		if r.monitor != "" && !r.administrator {
			return injection{}, fmt.Errorf("%serror during container init: error running hook #0: error running hook: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\ncannot set MIG_MONITOR_DEVICES in non privileged container: unknown", createPrefix)
		}
		if failure := legacyFailure(s); failure != "" {
			return injection{}, fmt.Errorf("%serror during container init: error running hook #0: error running hook: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: %s: unknown", createPrefix, failure)
		}
		if err != nil {
			return injection{}, fmt.Errorf("%serror during container init: error running hook #0: error running hook: exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: device error: %w: unknown", createPrefix, err)
		}
		return injection{gpus: wanted, libraries: true}, nil
	}
	if failure := cdiFailure(s); failure != "" {
		return injection{}, fmt.Errorf("failed to create containerd task: failed to create shim task: OCI runtime create failed: could not apply required modification to OCI specification: failed to generate CDI spec: %s: unknown", failure)
	}
	if err != nil {
		return injection{}, fmt.Errorf("failed to create containerd task: failed to create shim task: OCI runtime create failed: could not apply required modification to OCI specification: %w: unknown", err)
	}
	return injection{gpus: wanted, libraries: true}, nil
}

// jitCDI says that the machine's toolkit is 1.18 or newer, whose mode "auto" is jit-cdi (nvidia-container-toolkit v1.18.0
// internal/info/auto.go). The version follows the driver's in the extension's: 570.211.01-v1.18.2.
func jitCDI(s host.Snapshot) bool {
	for _, extension := range s.Extensions {
		if !strings.HasPrefix(extension.Name, "nvidia-container-toolkit") {
			continue
		}
		_, toolkit, _ := strings.Cut(extension.Version, "-v")
		var major, minor int
		if _, err := fmt.Sscanf(toolkit, "%d.%d", &major, &minor); err == nil {
			return major > 1 || minor >= 18
		}
	}
	return s.Era == host.EraCDI
}

// legacyFailure is what nvidia-container-cli says.
func legacyFailure(s host.Snapshot) string {
	switch {
	case s.DriverVersion == "":
		return "initialization error: nvml error: driver not loaded"
	case s.LibraryVersion != s.DriverVersion:
		return "initialization error: nvml error: driver/library version mismatch"
	case hardened(s):
		// siderolabs/extensions#101, libnvidia-container#176: programs blinded by the JIT cannot be read back and extended.
		return "mount error: failed to create device filter: failed to add device rules: unable to generate new device filter program from existing programs: " +
			"unable to create new device filters program: load program: invalid argument: last insn is not an exit or jmp\n" +
			"processed 0 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0"
	}
	return ""
}

// hardened: Talos sets net.core.bpf_jit_harden to 2 unless the configuration says otherwise (KSPP; talos v1.12
// pkg/kernel/kspp/kspp.go), and only 2 blinds the programs of root.
func hardened(s host.Snapshot) bool {
	value, set := s.Sysctls["net.core.bpf_jit_harden"]
	return !set || strings.TrimSpace(value) == "2"
}

// cdiFailure is why no specification can be made.
func cdiFailure(s host.Snapshot) string {
	switch {
	case s.DriverVersion == "":
		return "failed to initialize NVML: Driver Not Loaded"
	case s.LibraryVersion != s.DriverVersion:
		return "failed to initialize NVML: Driver/library version mismatch"
	}
	return ""
}

// injectCDI resolves CDI device names. In the legacy era the specification names a hook that Talos has not
// (talos#13021: /usr/bin/nvidia-ctk) and libraries in places where Talos keeps none.
func injectCDI(cards []GPU, s host.Snapshot, names []string) (injection, error) {
	if s.Era == host.EraLegacy {
		return injection{}, fmt.Errorf("%serror during container init: error running hook #0: fork/exec /usr/bin/nvidia-ctk: no such file or directory: unknown", createPrefix)
	}
	if failure := cdiFailure(s); failure != "" {
		return injection{}, fmt.Errorf("failed to inject devices: unresolvable CDI devices %s: %s", strings.Join(names, ", "), failure)
	}
	var gpus []GPU
	for _, name := range names {
		_, device, _ := strings.Cut(name, "=")
		selected, err := selectGPUs(cards, device)
		if err != nil {
			return injection{}, fmt.Errorf("failed to inject devices: unresolvable CDI devices %s", name)
		}
		gpus = append(gpus, selected...)
	}
	return injection{gpus: gpus, libraries: true}, nil
}
