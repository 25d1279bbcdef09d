// service is what some images of a lab hold, by the name that it is called by: nvidia-persistenced-wrapper, which runs until
// it is told to end, nvidia-ctk, which writes the CDI specification and ends, the runtime, which is runc, the device plugin, and the
// names of a control plane's programs. All other programs of pods are those of lab/machines.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
)

const specification = `cdiVersion: 0.5.0
kind: nvidia.com/gpu
devices:
  - name: "0"
    containerEdits:
      env: [NVIDIA_STAND_IN=0]
containerEdits: {}
`

func main() {
	if err := run(filepath.Base(os.Args[0]), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name string, args []string) error {
	switch name {
	case "nvidia-ctk":
		return specify(args)
	case "nvidia-container-runtime": // containers get no libraries, which no stand-in loads
		return syscall.Exec("/usr/bin/runc", append([]string{"runc"}, args...), os.Environ())
	case "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler": // the lab's one program of a control plane
		return syscall.Exec("/usr/local/bin/controlplane", append([]string{"controlplane", name}, args...), os.Environ())
	case "nvidia-device-plugin":
		return offer()
	case "nvidia-persistenced-wrapper":
		if err := os.MkdirAll("/var/run/nvidia-persistenced", 0o755); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s: nothing stands in for it", name)
	}
	<-ended()
	return nil
}

func ended() <-chan os.Signal {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
	return told
}

func specify(args []string) error {
	if _, err := os.Stat("/proc/driver/nvidia/version"); err != nil {
		return fmt.Errorf("failed to initialize NVML: Driver Not Loaded: %w", err)
	}
	output := slices.Index(args, "--output") + 1
	if output == 0 || output == len(args) {
		return fmt.Errorf("nvidia-ctk %q: this stand-in writes CDI specifications alone", args)
	}
	return os.WriteFile(args[output], []byte(specification), 0o644)
}
