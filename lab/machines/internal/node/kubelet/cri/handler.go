package cri

import (
	"fmt"
	"slices"

	"talos-gpu/lab/machines/internal/host"
)

// Handler is the runtime handler of a pod, which must be one of the machine's (containerd internal/cri/config,
// getSandboxRuntime).
func Handler(s host.Snapshot, class string) (string, error) {
	handler := class
	if handler == "" {
		handler = s.DefaultRuntime
		if handler == "" {
			handler = "runc"
		}
	}
	if len(s.Runtimes) > 0 && !slices.Contains(s.Runtimes, handler) || len(s.Runtimes) == 0 && handler != "runc" {
		return "", fmt.Errorf("no runtime for %q is configured", handler)
	}
	return handler, nil
}
