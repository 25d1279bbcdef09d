// Package toolkit emulates NVIDIA's container toolkit on a machine: which parts of the driver the runtime puts into a
// container.
package toolkit

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// Handler is the handler that the container toolkit's extension registers with containerd.
const Handler = "nvidia"

// Injection is what a container gets from the NVIDIA driver.
type Injection struct {
	GPUs      []gpu.Card
	Libraries bool // whether the container has the driver's libraries and nvidia-smi
}

// Request has the properties of a container that decide what is injected.
type Request struct {
	Handler    string             // the pod's runtime handler
	Visible    string             // the value of NVIDIA_VISIBLE_DEVICES, "" when unset
	Allocation devices.Allocation // from the device plugin
}

const createTask = "failed to create containerd task: failed to create shim task: OCI runtime create failed: "

// Inject decides what the runtime puts into a container. After an error the container cannot be created.
//
//   - runc has no NVIDIA support. It honours CDI devices, which containerd resolves.
//   - nvidia, toolkit up to 1.17 (Talos <= 1.11): nvidia-container-cli runs as an OCI hook and reads
//     NVIDIA_VISIBLE_DEVICES.
//   - nvidia, toolkit from 1.18 on (Talos >= 1.12, with any layout of the libraries): mode jit-cdi, without a hook and
//     without a device filter (nvidia-container-toolkit v1.18.0 internal/info/auto.go).
func Inject(cards []gpu.Card, s host.Snapshot, r Request) (Injection, error) {
	visible, form, failure := r.Visible, createTask+"runc create failed: unable to start container process: error during container init: error running hook #0: error running hook: "+
		"exit status 1, stdout: , stderr: Auto-detected mode as 'legacy'\nnvidia-container-cli: %s: unknown", legacyFailure(s)
	unknown := func(err error) string { return "device error: " + err.Error() }
	switch {
	case r.Allocation.ByCDI:
		visible = strings.Join(r.Allocation.Devices, ",")
		form, failure = "failed to inject devices: unresolvable CDI devices k8s.device-plugin.nvidia.com/gpu="+visible+": %s", jitFailure(s)
	case r.Handler != Handler, visible == "", visible == "void":
		return Injection{}, nil
	case atLeast(s, 18):
		form, failure = createTask+jitStep(s)+": failed to create the automatic CDI modifier: failed to generate CDI spec for mode \"auto\": failed to construct device spec generators: %s", jitFailure(s)
		// This is the error for a name that is neither index nor UUID (nvidia-container-toolkit v1.18.2
		// pkg/nvcdi/lib-nvml.go). lab/tests/real-node compares it with the real toolkit.
		unknown = func(error) string { return fmt.Sprintf("identifier is not a valid UUID or index: %q", visible) }
	}
	if visible == "none" { // the driver's utilities without a card
		cards = nil
	} else if selected, err := gpu.Select(cards, visible); err != nil {
		failure = cmp.Or(failure, unknown(err))
	} else {
		cards = selected
	}
	if failure != "" {
		return Injection{}, fmt.Errorf(form, failure)
	}
	return Injection{GPUs: cards, Libraries: true}, nil
}

// Plugins is the file that says whose pods get all cards from the NRI plugin of the machine's toolkit. It has one
// namespace per line, and exists while the toolkit runs.
const Plugins = "run/nvidia/toolkit/nri"

// Manages reports whether a container gets all cards from the NRI plugin. The plugin ignores pods of other namespaces
// without a message (nvidia-container-toolkit v1.20.1 cmd/nvidia-ctk-installer/container/runtime/nri/plugin.go).
func Manages(root string, pod *corev1.Pod, container string) bool {
	if pod.Annotations["nvidia.cdi.k8s.io/container."+container] != "management.nvidia.com/gpu=all" {
		return false
	}
	namespaces, err := os.ReadFile(filepath.Join(root, Plugins))
	return err == nil && slices.Contains(strings.Fields(string(namespaces)), pod.Namespace)
}

// atLeast compares the minor of the machine's toolkit, since every major is 1. If the image does not say its toolkit,
// the way of injection decides.
func atLeast(s host.Snapshot, wanted int) bool {
	var minor int
	if _, err := fmt.Sscanf(s.Toolkit(), "1.%d", &minor); err != nil {
		return s.Injection != host.InjectionLegacy
	}
	return minor >= wanted
}

// jitStep returns the step at which the runtime makes the CDI specification. Toolkit 1.18 makes it at the start, and
// 1.19 when it modifies the container's specification (nvidia-container-toolkit v1.18.2 and v1.19.1, internal/runtime
// and internal/modifier).
func jitStep(s host.Snapshot) string {
	if atLeast(s, 19) {
		return "could not apply required modification to OCI specification: error modifying OCI spec"
	}
	return "failed to create NVIDIA Container Runtime: failed to construct OCI spec modifier"
}

// jitFailure returns why no CDI specification can be made, or "".
func jitFailure(s host.Snapshot) string {
	switch {
	case s.DriverVersion == "":
		return "failed to initialize NVML: Driver Not Loaded"
	case s.LibraryVersion != s.DriverVersion:
		return "failed to initialize NVML: Driver/library version mismatch"
	}
	return ""
}

// legacyFailure returns the error of nvidia-container-cli, or "". Talos sets net.core.bpf_jit_harden to 2 by default
// (KSPP; talos v1.12 pkg/kernel/kspp/kspp.go). Only the value 2 blinds the constants of root's BPF programs, which then
// cannot be read back and extended (siderolabs/extensions#101, libnvidia-container#176).
func legacyFailure(s host.Snapshot) string {
	harden, set := s.Sysctls["net.core.bpf_jit_harden"]
	switch {
	case s.DriverVersion == "":
		return "initialization error: nvml error: driver not loaded"
	case s.LibraryVersion != s.DriverVersion:
		return "initialization error: nvml error: driver/library version mismatch"
	case !set || strings.TrimSpace(harden) == "2":
		return "mount error: failed to create device filter: failed to add device rules: unable to generate new device filter program from existing programs: " +
			"unable to create new device filters program: load program: invalid argument: last insn is not an exit or jmp\n" +
			"processed 0 insns (limit 1000000) max_states_per_insn 0 total_states 0 peak_states 0 mark_read 0"
	}
	return ""
}

// HandlerOf returns the runtime handler of a pod. It must be one of the machine's handlers (containerd
// internal/cri/config, getSandboxRuntime).
func HandlerOf(s host.Snapshot, class string) (string, error) {
	handler := cmp.Or(class, s.DefaultRuntime, "runc")
	if slices.Contains(s.Runtimes, handler) || len(s.Runtimes) == 0 && handler == "runc" {
		return handler, nil
	}
	if s.Injection != host.InjectionLegacy { // containerd 2.2
		return "", fmt.Errorf("rpc error: code = Unknown desc = unable to get OCI runtime for sandbox %q: no runtime for %q is configured", host.Identifier(s.BootID, handler), handler)
	}
	return "", fmt.Errorf("rpc error: code = Unknown desc = failed to get sandbox runtime: no runtime for %q is configured", handler)
}
