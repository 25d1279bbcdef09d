package toolkit

import (
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/devices"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

func twoCards() host.Snapshot {
	return host.Snapshot{
		Injection:      host.InjectionLegacy,
		DriverVersion:  "570.172.08",
		LibraryVersion: "570.172.08",
		Sysctls:        map[string]string{"net.core.bpf_jit_harden": "1"},
		Runtimes:       []string{"runc", "nvidia"},
		DefaultRuntime: "runc",
		GPUs:           []host.GPU{{Model: "H100 NVL", Count: 2}},
	}
}

// toolkit118 is the toolkit of Talos 1.12, which has the library layout of earlier releases.
var toolkit118 = []host.Extension{{Name: "nvidia-container-toolkit-lts", Version: "580.126.20-v1.18.2"}}

func TestInject(t *testing.T) {
	uuid := gpu.Unsplit("m", twoCards())[1].UUID
	cases := []struct {
		name    string
		change  func(*host.Snapshot)
		request Request
		gpus    int
		failure string
	}{
		{"all", nil, Request{Handler: "nvidia", Visible: "all"}, 2, ""},
		{"by UUID", nil, Request{Handler: "nvidia", Visible: uuid}, 1, ""},
		{"by index", nil, Request{Handler: "nvidia", Visible: "0,1"}, 2, ""},
		{"void", func(s *host.Snapshot) { s.DriverVersion = "" }, Request{Handler: "nvidia", Visible: "void"}, 0, ""},
		{"unset", nil, Request{Handler: "nvidia"}, 0, ""},
		{"runc sees nothing", nil, Request{Handler: "runc", Visible: "all"}, 0, ""},
		{"unknown device", nil, Request{Handler: "nvidia", Visible: "GPU-x"}, 0, "GPU-x: unknown device"},
		{"driver not up", func(s *host.Snapshot) { s.DriverVersion = "" }, Request{Handler: "nvidia", Visible: "all"}, 0, "driver not loaded"},
		{"libraries of another branch", func(s *host.Snapshot) { s.LibraryVersion = "535.1" }, Request{Handler: "nvidia", Visible: "all"}, 0, "driver/library version mismatch"},
		{"hardened", func(s *host.Snapshot) { s.Sysctls = nil }, Request{Handler: "nvidia", Visible: "all"}, 0, "last insn is not an exit or jmp"},
		{"hardening does not matter with CDI", func(s *host.Snapshot) { s.Sysctls, s.Injection = nil, host.InjectionCDI }, Request{Handler: "nvidia", Visible: "all"}, 2, ""},
		{"hardening does not matter with toolkit 1.18", func(s *host.Snapshot) { s.Sysctls, s.Extensions = nil, toolkit118 }, Request{Handler: "nvidia", Visible: "all"}, 2, ""},
		{"driver not up with toolkit 1.18", func(s *host.Snapshot) { s.DriverVersion, s.Extensions = "", toolkit118 }, Request{Handler: "nvidia", Visible: "all"}, 0, "failed to initialize NVML: Driver Not Loaded"},
		{"unknown device with toolkit 1.18", func(s *host.Snapshot) { s.Extensions = toolkit118 }, Request{Handler: "nvidia", Visible: "nope"}, 0, `failed to construct OCI spec modifier: failed to create the automatic CDI modifier: failed to generate CDI spec for mode "auto": failed to construct device spec generators: identifier is not a valid UUID or index: "nope"`},
		{"CDI", func(s *host.Snapshot) { s.Injection = host.InjectionCDI }, Request{Handler: "runc", Allocation: devices.Allocation{ByCDI: true, Devices: []string{uuid}}}, 1, ""},
	}
	for _, test := range cases {
		snapshot := twoCards()
		if test.change != nil {
			test.change(&snapshot)
		}
		got, err := Inject(gpu.Unsplit("m", snapshot), snapshot, test.request)
		if test.failure == "" && err != nil || test.failure != "" && (err == nil || !strings.Contains(err.Error(), test.failure)) {
			t.Errorf("%s: error %v, want %q", test.name, err, test.failure)
		}
		if len(got.GPUs) != test.gpus {
			t.Errorf("%s: %d GPUs, want %d", test.name, len(got.GPUs), test.gpus)
		}
	}
}

func TestHandlerOf(t *testing.T) {
	s := host.Snapshot{Runtimes: []string{"runc", "nvidia"}, DefaultRuntime: "nvidia"}
	for class, want := range map[string]string{"": "nvidia", "runc": "runc"} {
		if got, err := HandlerOf(s, class); err != nil || got != want {
			t.Errorf("class %q: %q, %v", class, got, err)
		}
	}
	if _, err := HandlerOf(host.Snapshot{}, "nvidia"); err == nil || !strings.Contains(err.Error(), `no runtime for "nvidia" is configured`) {
		t.Errorf("a machine without the toolkit: %v", err)
	}
}
