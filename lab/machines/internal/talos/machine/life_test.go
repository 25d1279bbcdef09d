package machine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	api "github.com/siderolabs/talos/pkg/machinery/api/machine"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/spec"
	"talos-gpu/lab/machines/internal/talos/containerd"
	"talos-gpu/lab/machines/internal/talos/factory"
	"talos-gpu/lab/machines/internal/talos/machine"
	"talos-gpu/lab/machines/internal/talos/resources"
)

// These tests take a machine through boots and upgrades. lab/tests/real-talos has observed what real Talos does.

// fast makes a lab minute take 10 ms, so that a boot that gives up after 70 minutes needs less than a second.
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
	modules = "  kernel: {modules: [{name: nvidia}, {name: nvidia_uvm}, {name: nvidia_drm}, {name: nvidia_modeset}]}"
	part    = "    - {path: /etc/cri/conf.d/20-customization.part, op: create, permissions: 0o644, content: \"[plugins]\\n\"}\n"
)

// configuration returns a worker's configuration with more lines below `machine`.
func configuration(machineLines ...string) []byte {
	return []byte(fmt.Sprintf(base, strings.Join(machineLines, "\n")))
}

// gpu and plain are the IDs of two schematics.
var gpu, plain = strings.Repeat("a", 64), factory.EmptySchematic

// newFactory serves the two schematics, and one release that lacks the extensions of gpu.
func newFactory(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/") // /v2/IMAGE/SCHEMATIC/manifests/VERSION
		contents := factory.Contents{}
		switch id, version := parts[3], parts[5]; {
		case id != gpu && id != plain:
			http.Error(w, "schematic not found", http.StatusNotFound)
			return
		case id == gpu && version == "v1.12.0":
			http.Error(w, `official extension "siderolabs/nvidia-container-toolkit-production" is not available for Talos version v1.12.0`, http.StatusBadRequest)
			return
		case id == gpu:
			contents.Extensions = []host.Extension{{Name: "nvidia-container-toolkit-production", Version: "570.211.01-v1.18.2"},
				{Name: "nvidia-open-gpu-kernel-modules-production", Version: "570.211.01-" + version}}
		}
		text, _ := json.Marshal(contents)
		_ = json.NewEncoder(w).Encode(map[string]any{"annotations": map[string]string{"lab.talos-gpu.dev/contents": string(text)}})
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// must returns the answer of a call that must not fail.
func must[T any](answer T, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

// life is a machine that runs.
type life struct{ *machine.Machine }

// start starts a worker with a card.
func start(t *testing.T, version, schematicID string, config []byte) life {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "config.yaml")
	must(path, os.WriteFile(path, config, 0o600))
	description := spec.Machine{
		Name:         "w1",
		Address:      "10.0.0.2",
		Role:         "worker",
		TalosVersion: version,
		SchematicID:  schematicID,
		Platform:     "metal",
		Config:       path,
		GPUs:         []host.GPU{{Model: "RTX 5070 Ti", PCIDevice: "0300_10de", Count: 1}},
	}
	m := must(machine.New(t.Context(), description, machine.Environment{Clock: clock.New(fast), Factory: factory.NewClient(newFactory(t)), Dir: dir, Cluster: []spec.Machine{description}}))
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	must(m, m.AwaitPower(ctx))
	return life{m}
}

// until waits for a condition on the machine. If the condition does not come, it fails with the machine's report.
func (l life) until(t *testing.T, what string, met func(machine.Report) bool) machine.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for range l.Watch(ctx) {
		if report := l.Report(); met(report) {
			return report
		}
	}
	t.Fatalf("waited for: %s\n%+v", what, l.Report())
	return machine.Report{}
}

func installer(schematic, version string) string {
	return "factory.talos.dev/metal-installer/" + schematic + ":" + version
}

func up(report machine.Report) bool { return report.Stage == "running" && report.Ready }

func (l life) said(text string) bool {
	for _, entry := range l.Report().Events {
		if strings.Contains(entry.What, text) {
			return true
		}
	}
	return false
}

// The persistence daemon waits for a module that is not declared, so the boot never ends. An upgraded machine then
// returns to its old image.
func TestUndeclaredModulesUndoTheUpgrade(t *testing.T) {
	l := start(t, "v1.12.6", plain, configuration())
	l.until(t, "running", up)
	must(l.UpgradeAndReboot(t.Context(), installer(gpu, "v1.12.6")))
	l.until(t, "the new image, booting", func(r machine.Report) bool { return r.SchematicID == gpu && r.Stage == "booting" })
	report := l.until(t, "the old image again", func(r machine.Report) bool { return r.SchematicID == plain && up(r) })
	if report.Reboots != 2 || report.Upgrades != 1 || !l.said("reverting failed upgrade") {
		t.Fatalf("%+v", report)
	}
}

func TestModulesAppliedLiveEndTheWait(t *testing.T) {
	l := start(t, "v1.12.6", gpu, configuration())
	l.until(t, "kubelet runs while the boot waits", func(r machine.Report) bool { return r.Stage == "booting" && l.Snapshot().KubeletRunning })
	answer, err := l.Apply(&api.ApplyConfigurationRequest{Data: configuration(modules), Mode: api.ApplyConfigurationRequest_AUTO})
	if err != nil || answer.Mode != api.ApplyConfigurationRequest_NO_REBOOT {
		t.Fatalf("%v %v", answer, err)
	}
	if report := l.until(t, "running", up); report.Reboots != 0 || *report.DriverVersion != "570.211.01" {
		t.Fatalf("%+v", report)
	}
}

func TestAMachineIsCalledByItsConfiguration(t *testing.T) {
	document := func(text string) []byte {
		return append(configuration(), "\n---\napiVersion: v1alpha1\nkind: HostnameConfig\n"+text+"\n"...)
	}
	const made = "^talos-[0-9a-f]{3}-[0-9a-f]{3}$"
	for called, configs := range map[string][][]byte{
		"^gpu-1$": {configuration("  network: {hostname: gpu-1}"), document("auto: \"off\"\nhostname: gpu-1")},
		made:      {document("auto: stable"), configuration()},
	} {
		for _, config := range configs {
			if l := start(t, "v1.13.0", plain, config); !regexp.MustCompile(called).MatchString(l.Name()) || l.Key() != "w1" {
				t.Errorf("name %s, key %s; want name %s\n%s", l.Name(), l.Key(), called, config)
			}
		}
	}
}

// Seen on Talos v1.13.0: an installation continues after its caller has gone, and no reboot follows. A reboot that ends
// a paused boot reverts the upgrade.
func TestAnUpgradeWhoseCallerIsGoneAndWhoseBootIsPaused(t *testing.T) {
	l, image := start(t, "v1.13.0", plain, configuration(modules, "  files:\n"+part)), installer(gpu, "v1.13.0")
	l.until(t, "running", up)
	gone, leave := context.WithCancel(t.Context())
	leave()
	must(l, l.Pull(t.Context(), image))
	if code, err := l.Install(gone, image, func(string) {}); code != 0 || err != nil {
		t.Fatalf("%d %v", code, err)
	}
	if report := l.Report(); !up(report) || report.Reboots != 0 || !l.said("starting upgrade: installer_image="+image) || !l.said("upgrade completed successfully: exit_code=0") {
		t.Fatalf("%+v", report)
	}
	// The next boot pauses, and the boot after it runs the old image.
	twice := configuration(modules, "  files:\n"+part+part)
	must(l.Apply(&api.ApplyConfigurationRequest{Data: twice, Mode: api.ApplyConfigurationRequest_STAGED}))
	must(l.Reboot(false))
	l.until(t, "the new image, paused", func(r machine.Report) bool { return r.SchematicID == gpu && l.said("rebooting in 35 minutes") })
	must(l.Apply(&api.ApplyConfigurationRequest{Data: configuration(modules), Mode: api.ApplyConfigurationRequest_AUTO}))
	if report := l.until(t, "running", up); report.SchematicID != plain || !l.said("reverting failed upgrade") {
		t.Fatalf("%+v", report)
	}
}

// Seen on Talos v1.13.0: containerd runs without its CRI service, and the kubelet fails at every start.
func TestADefaultRuntimeThatTheImageDoesNotHave(t *testing.T) {
	byDefault := strings.Replace(part, "[plugins]", `[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = 'nvidia'`, 1)
	l := start(t, "v1.13.0", plain, configuration())
	l.until(t, "running", up)
	must(l.Apply(&api.ApplyConfigurationRequest{Data: configuration("  files:\n" + byDefault), Mode: api.ApplyConfigurationRequest_REBOOT}))
	report := l.until(t, "the kubelet fails", func(machine.Report) bool { return l.said("unknown service runtime.v1.RuntimeService") })
	if report.Stage != "booting" || l.Snapshot().KubeletRunning {
		t.Fatalf("%+v", report)
	}
	must(l.Apply(&api.ApplyConfigurationRequest{Data: configuration(), Mode: api.ApplyConfigurationRequest_AUTO}))
	if report := l.until(t, "running", up); report.Reboots != 2 {
		t.Fatalf("%+v", report)
	}
}

// Seen on Talos v1.14.1: the running containerd gets the first of two parts. Its file does not exist, and other files
// are written at the next boot.
func TestFilesOnARunningTalos114(t *testing.T) {
	byDefault := strings.Replace(part, "[plugins]", `[plugins.'io.containerd.cri.v1.runtime'.containerd]\ndefault_runtime_name = 'nvidia'`, 1)
	owners := "    - {path: /var/lib/owner.conf, op: create, permissions: 0o644, content: theirs}\n"
	l := start(t, "v1.14.1", gpu, configuration(modules))
	l.until(t, "running", up)
	answer, err := l.Apply(&api.ApplyConfigurationRequest{Data: configuration(modules, "  files:\n"+byDefault+part+owners), Mode: api.ApplyConfigurationRequest_NO_REBOOT})
	if err != nil || answer.Mode != api.ApplyConfigurationRequest_NO_REBOOT {
		t.Fatalf("%v %v", answer, err)
	}
	there := func(path string) bool { _, err := os.Stat(filepath.Join(l.RootFS(), path)); return err == nil }
	if l.Snapshot().DefaultRuntime != "nvidia" || there(containerd.CustomizationPath) || !there(containerd.ConfigPath) || there("/var/lib/owner.conf") {
		t.Fatalf("%+v", l.Snapshot())
	}
	must(l.Reboot(false))
	report := l.until(t, "rebooted", func(r machine.Report) bool { return r.Reboots == 1 && up(r) })
	if l.Snapshot().DefaultRuntime != "nvidia" || !there("/var/lib/owner.conf") || there(containerd.CustomizationPath) {
		t.Fatalf("%+v", report)
	}
}

// documents appends documents of Talos 1.14 to a configuration.
func documents(config []byte, texts ...string) []byte {
	for _, text := range texts {
		config = append(config, "---\napiVersion: v1alpha1\n"+text...)
	}
	return config
}

// Seen on Talos v1.14.1: documents about sysctls, modules and containerd override `machine`, and take effect at once.
func TestDocumentsOfTalos114(t *testing.T) {
	byDefault := func(runtime string) string {
		return "  [plugins.'io.containerd.cri.v1.runtime'.containerd]\n  default_runtime_name = '" + runtime + "'\n"
	}
	ours := strings.Replace(part, "[plugins]", strings.ReplaceAll(strings.TrimSpace(byDefault("nvidia")), "\n  ", "\\n"), 1)
	sysctls := "  sysctls: {net.core.bpf_jit_harden: \"1\", vm.swappiness: \"1\"}"
	var loads []string
	for _, module := range []string{"nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"} {
		loads = append(loads, "kind: KernelModuleConfig\nname: "+module+"\n")
	}
	config := documents(configuration(sysctls, "  files:\n"+ours), loads...)
	l := start(t, "v1.14.1", gpu, config)
	report := l.until(t, "running", up)
	if l.Snapshot().DefaultRuntime != "nvidia" || l.Snapshot().Sysctls["net.core.bpf_jit_harden"] != "1" || *report.DriverVersion != "570.211.01" {
		t.Fatalf("%+v", l.Snapshot())
	}
	config = documents(
		config,
		"kind: SysctlConfig\nparams: {net.core.bpf_jit_harden: \"2\"}\n",
		"kind: CRICustomizationConfig\nname: zz\ncontent: |\n"+byDefault("runc"),
	)
	answer, err := l.Apply(&api.ApplyConfigurationRequest{Data: config, Mode: api.ApplyConfigurationRequest_AUTO})
	if err != nil || answer.Mode != api.ApplyConfigurationRequest_NO_REBOOT {
		t.Fatalf("%v %v", answer, err)
	}
	snapshot := l.Snapshot()
	if snapshot.DefaultRuntime != "runc" || snapshot.Sysctls["net.core.bpf_jit_harden"] != "2" || snapshot.Sysctls["vm.swappiness"] != "1" {
		t.Fatalf("%+v", snapshot)
	}
	if report := l.Report(); report.Reboots != 0 || !up(report) {
		t.Fatalf("%+v", report)
	}
}

func (l life) service(id string) resources.Service {
	for _, service := range l.Services() {
		if service.ID == id {
			return service
		}
	}
	return resources.Service{}
}

// Seen on Talos v1.14.1: isolation begins with a boot. Without that boot, containerd does not start again after its
// next change.
func TestIsolationWaitsForABoot(t *testing.T) {
	const isolation = "kind: SecurityProfileConfig\nworkloadIsolation: true\n"
	l := start(t, "v1.14.1", gpu, configuration(modules))
	l.until(t, "running", up)
	apply := func(config []byte) {
		must(l.Apply(&api.ApplyConfigurationRequest{Data: config, Mode: api.ApplyConfigurationRequest_AUTO}))
	}
	apply(documents(configuration(modules), isolation))
	if l.service("cri").State != "Running" || l.service("sandboxd").ID != "" {
		t.Fatalf("%+v", l.Services())
	}
	apply(documents(configuration(modules, "  files:\n"+part), isolation))
	if cri := l.service("cri"); cri.State != "Waiting" || cri.Healthy || cri.Message != `Waiting for service "sandboxd" to be registered` || !up(l.Report()) {
		t.Fatalf("%+v", l.Services())
	}
	must(l.Reboot(false))
	l.until(t, "rebooted", func(r machine.Report) bool { return r.Reboots == 1 && up(r) })
	apply(documents(configuration(modules), isolation))
	if l.service("cri").State != "Running" || l.service("sandboxd").State != "Running" {
		t.Fatalf("%+v", l.Services())
	}
}

// Seen on Talos v1.13.0 and v1.14.1: a document of 1.14, and a field that a document also sets.
func TestConfigurationsThatAReleaseRefuses(t *testing.T) {
	sysctl := documents(configuration(), "kind: SysctlConfig\nparams: {vm.swappiness: \"1\"}\n")
	twice := documents(configuration("  features: {stableHostname: true}"), "kind: HostnameConfig\nauto: stable\n")
	for _, test := range []struct {
		version, problem string
		config           []byte
	}{
		{"v1.13.0", `"SysctlConfig" "v1alpha1": not registered`, sysctl},
		{"v1.14.1", "stable hostname is already set in v1alpha1 config", twice},
	} {
		l := start(t, test.version, plain, configuration())
		l.until(t, "running", up)
		_, err := l.Apply(&api.ApplyConfigurationRequest{Data: test.config, Mode: api.ApplyConfigurationRequest_AUTO})
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), test.problem) {
			t.Errorf("%s: %v", test.version, err)
		}
	}
}

func TestImagesThatTheFactoryDoesNotMake(t *testing.T) {
	l := start(t, "v1.11.5", plain, configuration())
	l.until(t, "running", up)
	for image, problem := range map[string]string{
		installer(strings.Repeat("0", 64), "v1.12.6"): "404 Not Found: schematic not found",
		installer(gpu, "v1.12.0"):                     `official extension "siderolabs/nvidia-container-toolkit-production" is not available for Talos version v1.12.0`,
		"docker.io/library/busybox:v1":                "no installer image of a Talos release",
	} {
		if _, err := l.UpgradeAndReboot(t.Context(), image); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", image, err)
		}
	}
	if report := l.Report(); report.Reboots != 0 || !up(report) {
		t.Fatalf("%+v", report)
	}
}

func TestABusyMachineRefuses(t *testing.T) {
	l := start(t, "v1.12.6", plain, configuration())
	l.until(t, "running", up)
	must(l.UpgradeAndReboot(t.Context(), installer(plain, "v1.12.7")))
	_, upgrade := l.UpgradeAndReboot(t.Context(), installer(plain, "v1.12.7"))
	_, apply := l.Apply(&api.ApplyConfigurationRequest{Data: configuration(), Mode: api.ApplyConfigurationRequest_STAGED})
	for _, err := range []error{upgrade, apply} {
		if status.Code(err) != codes.FailedPrecondition {
			t.Fatalf("%v", err)
		}
	}
}

// Seen on Talos v1.13.0: a missing image is reported at once. Other errors are only on the console, because Talos tries
// again.
func TestAPullThatFails(t *testing.T) {
	l := start(t, "v1.13.0", plain, configuration())
	l.until(t, "running", up)
	if err := l.PullPatiently(t.Context(), installer(strings.Repeat("0", 64), "v1.13.0")); status.Code(err) != codes.NotFound {
		t.Fatalf("%v", err)
	}
	must(l, l.Fault("pull-error", 2))
	if err := l.PullPatiently(t.Context(), installer(plain, "v1.13.0")); err != nil || !l.said("retrying error: failed to pull image") {
		t.Fatal(err)
	}
}
