package cri

import (
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/host"
)

func TestHandler(t *testing.T) {
	if _, err := Handler(host.Snapshot{Runtimes: []string{"runc"}}, "nvidia"); err == nil || !strings.Contains(err.Error(), `no runtime for "nvidia" is configured`) {
		t.Errorf("without the extension: %v", err)
	}
	snapshot := host.Snapshot{Runtimes: []string{"runc", "nvidia"}, DefaultRuntime: "nvidia"}
	if handler, err := Handler(snapshot, ""); err != nil || handler != "nvidia" {
		t.Errorf("default runtime: %s, %v", handler, err)
	}
}
