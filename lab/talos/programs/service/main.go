// service is what some images of a lab hold, by the name that it is called by: NVIDIA's programs on the machine
// (nvidia-persistenced-wrapper runs until a signal ends it, nvidia-ctk writes the CDI specification), and those of a control plane.
package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
)

const specification = `{cdiVersion: 0.5.0, kind: nvidia.com/gpu, devices: [{name: "0", containerEdits: {env: [NVIDIA_STAND_IN=0]}}]}`

const controlPlane = "/usr/local/bin/controlplane"

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
	case "kube-scheduler":
		return scheduler(args)
	case "etcd", "kube-apiserver", "kube-controller-manager": // the lab's one program of a control plane
		return syscall.Exec(controlPlane, append([]string{controlPlane, name}, args...), os.Environ())
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

// scheduler is the real one, and what answers the probes of its static pod while it starts: they give it 30 s to its first answer (talos v1.13.0
// controllers/k8s/control_plane_static_pod.go), and without KVM it took longer (modern, 2026-11-26: 16 starts in 15 minutes, and no pod was placed).
func scheduler(args []string) error {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	listener, err := net.Listen("tcp", "127.0.0.1:10259")
	if err != nil {
		return err
	}
	server.Listener = listener
	server.StartTLS()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	child := exec.CommandContext(ctx, controlPlane, append(append([]string{"kube-scheduler"}, args...), "--secure-port=10260")...)
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	return child.Run()
}
