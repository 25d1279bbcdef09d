// Package lifetest_test lives a machine through boots and upgrades, by the API that others see of it.
package lifetest_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/spec"
	"talos-gpu/lab/machines/internal/talos/factory"
	"talos-gpu/lab/machines/internal/talos/machine"
)

// fast: a lab minute takes 10 ms, so that a boot that gives up after 70 minutes does so in less than a second.
const fast = 6000

const base = `version: v1alpha1
machine:
  type: worker
  token: aaaaaa.bbbbbbbbbbbbbbbb
  ca: {crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==}
  kubelet: {image: "ghcr.io/siderolabs/kubelet:v1.34.1"}
  install: {disk: /dev/sda}
%s
cluster:
  id: aGVsbG8=
  secret: aGVsbG8=
  controlPlane: {endpoint: "https://10.0.0.1:6443"}
  clusterName: lab
  token: aaaaaa.bbbbbbbbbbbbbbbb
  ca: {crt: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==}
`

const (
	modules   = "  kernel: {modules: [{name: nvidia}, {name: nvidia_uvm}, {name: nvidia_drm}, {name: nvidia_modeset}]}"
	part      = "    - {path: /etc/cri/conf.d/20-customization.part, op: create, permissions: 0o644, content: \"[plugins]\\n\"}\n"
	duplicate = "  files:\n" + part + part
)

// configuration of a worker with further lines below `machine`.
func configuration(machineLines ...string) []byte {
	return []byte(fmt.Sprintf(base, strings.Join(machineLines, "\n")))
}

// lab is a Factory and a machine that runs.
type lab struct {
	*machine.Machine
	gpu, plain string // schematic IDs
}

func schematicOf(names ...string) (id, text string) {
	text = "customization:\n    systemExtensions:\n        officialExtensions:\n"
	for _, name := range names {
		text += "            - siderolabs/" + name + "\n"
	}

	return fmt.Sprintf("%x", sha256.Sum256([]byte(text))), text
}

func newFactory(t *testing.T) (url, gpu string) {
	t.Helper()

	gpu, text := schematicOf("nvidia-container-toolkit-production", "nvidia-open-gpu-kernel-modules-production")

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/schematics/") {
			if r.URL.Path != "/schematics/"+gpu {
				http.Error(w, "schematic not found", http.StatusNotFound)

				return
			}

			fmt.Fprint(w, text)

			return
		}

		version := strings.Split(r.URL.Path, "/")[2]
		if version == "v1.12.0" { // a release that lacks the toolkit
			fmt.Fprint(w, `[]`)

			return
		}

		_ = json.NewEncoder(w).Encode([]map[string]string{
			{"name": "siderolabs/nvidia-container-toolkit-production", "ref": "ghcr.io/siderolabs/nvidia-container-toolkit-production:570.211.01-v1.18.2"},
			{"name": "siderolabs/nvidia-open-gpu-kernel-modules-production", "ref": "ghcr.io/siderolabs/nvidia-open-gpu-kernel-modules-production:570.211.01-" + version},
		})
	}))
	t.Cleanup(server.Close)

	return server.URL, gpu
}

// start a worker with a card.
func start(t *testing.T, version string, gpuImage bool, config []byte) *lab {
	t.Helper()

	url, gpu := newFactory(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")

	if err := os.WriteFile(path, config, 0o600); err != nil {
		t.Fatal(err)
	}

	description := spec.Machine{
		Name: "w1", Address: "10.0.0.2", Role: "worker", TalosVersion: version, SchematicID: factory.EmptySchematic, Platform: "metal", Config: path,
		GPUs: []host.GPU{{Model: "RTX 5070 Ti", PCIDevice: "0300_10de", Count: 1}},
	}
	if gpuImage {
		description.SchematicID = gpu
	}

	m, err := machine.New(t.Context(), description, machine.Environment{
		Clock: clock.New(fast), Factory: factory.NewClient(url), Dir: dir, Cluster: []spec.Machine{description},
	})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})

	go func() { defer close(done); m.Run(ctx) }()

	t.Cleanup(func() { cancel(); <-done })

	if err := m.AwaitPower(ctx); err != nil {
		t.Fatal(err)
	}

	return &lab{Machine: m, gpu: gpu, plain: factory.EmptySchematic}
}

// until waits for a condition on the machine, and says what it had when that doesn't come.
func (l *lab) until(t *testing.T, what string, met func(machine.Report) bool) machine.Report {
	t.Helper()

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()

	for range l.Watch(ctx) {
		if report := l.Report(); met(report) {
			return report
		}
	}

	t.Fatalf("waited for: %s\n%+v\n%s", what, l.Report(), l.history())

	return machine.Report{}
}

func installer(schematic, version string) string {
	return "factory.talos.dev/metal-installer/" + schematic + ":" + version
}

func up(report machine.Report) bool { return report.Stage == "running" && report.Ready }

func (l *lab) history() (text string) {
	for _, entry := range l.Report().Events {
		text += entry.What + "\n"
	}

	return text
}

func (l *lab) said(text string) bool { return strings.Contains(l.history(), text) }
