// service is what some images of a lab hold, by the name that it is called by: NVIDIA's programs on the machine, of which
// nvidia-persistenced-wrapper runs until it is told to end and nvidia-ctk writes the CDI specification, and those of a control plane.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
)

const specification = `{cdiVersion: 0.5.0, kind: nvidia.com/gpu, devices: [{name: "0", containerEdits: {env: [NVIDIA_STAND_IN=0]}}]}`

func main() {
	if err := run(filepath.Base(os.Args[0]), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name string, args []string) error {
	switch name {
	case "nvidia-ctk", "nvidia-cdi-hook", "nvidia-smi":
		if _, err := os.Stat("/proc/driver/nvidia/version"); err != nil {
			return fmt.Errorf("failed to initialize NVML: Driver Not Loaded: %w", err)
		}
		if at := slices.Index(args, "--output") + 1; at > 0 {
			return os.WriteFile(args[at], []byte(specification), 0o644)
		}
		return nil // a hook: no stand-in needs links or the linker's cache in a container
	case "nvidia-container-runtime":
		return start(args)
	case "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler": // the lab's one program of a control plane
		return syscall.Exec("/usr/local/bin/controlplane", append([]string{"controlplane", name}, args...), os.Environ())
	case "nvidia-persistenced-wrapper":
		if err := os.MkdirAll("/var/run/nvidia-persistenced", 0o755); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s: nothing stands in for it", name)
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
	<-told
	return nil
}
