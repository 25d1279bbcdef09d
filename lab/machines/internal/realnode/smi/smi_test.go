package smi

import (
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

func TestRun(t *testing.T) {
	cards := gpu.Unsplit("m", host.Snapshot{GPUs: []host.GPU{{Model: "H200", Count: 2, MemoryMiB: 143771, ComputeCapability: "9.0", MinPowerW: 200, MaxPowerW: 700, DefaultPowerW: 700}}})
	up := Driver{Version: "580.159.04", LibraryVersion: "580.159.04", Privileged: true}
	settings := SettingsOf(t.TempDir())
	for _, test := range []struct {
		args   string
		driver Driver
		code   int
		want   string
	}{
		{"", Driver{}, exitNoDriver, "couldn't communicate with the NVIDIA driver"},
		{"", Driver{Version: "580.1", LibraryVersion: "570.1"}, exitMismatch, "Driver/library version mismatch"},
		{"", up, 0, "CUDA Version: 13.0"},
		{"-L", up, 0, "GPU 1: NVIDIA H200 (UUID: GPU-"},
		{"--query-gpu=index,name,driver_version,memory.total,power.limit,persistence_mode,compute_cap --format=csv", up, 0,
			"index, name, driver_version, memory.total [MiB], power.limit [W], persistence_mode, compute_cap\n0, NVIDIA H200, 580.159.04, 143771 MiB, 700.00 W, Enabled, 9.0\n1, NVIDIA H200"},
		{"-i 1 -pl 100", up, exitInvalidArgument, "between 200.00 W and 700.00 W"},
		{"-i 1 -pl 300", Driver{Version: "1", LibraryVersion: "1"}, exitNoPermission, "Insufficient Permissions"},
		{"-i 1 -pl 300", up, 0, "was set to 300.00 W from 700.00 W.\nAll done."},
		{"--query-gpu=power.limit --format=csv,noheader,nounits", up, 0, "700.00\n300.00\n"},
		{"--query-gpu=nonsense --format=csv", up, exitInvalidArgument, "is not a valid field to query"},
		{"-i 5", up, exitNotFound, "No devices were found"},
	} {
		var out strings.Builder
		code := Run(&out, strings.Fields(test.args), test.driver, cards, settings)
		if code != test.code || !strings.Contains(out.String(), test.want) {
			t.Errorf("nvidia-smi %s: exit %d\n%s", test.args, code, out.String())
		}
	}
}

func TestSplitCard(t *testing.T) {
	cards := gpu.Unsplit("m", host.Snapshot{GPUs: []host.GPU{{Model: "H100 NVL", Count: 1, MIG: &host.MIG{Profiles: map[string]int{"1g.12gb": 7}}}}})
	up, settings := Driver{Version: "580.159.04", LibraryVersion: "580.159.04", Privileged: true}, SettingsOf(t.TempDir())
	ask := func(args ...string) string {
		out := &strings.Builder{}
		Run(out, args, up, cards, settings)
		return out.String()
	}
	mode := []string{"--query-gpu=mig.mode.current,utilization.gpu", "--format=csv,noheader"}
	if got := ask(mode...); got != "Disabled, 0 %\n" {
		t.Errorf("not split: %q", got)
	}
	cards[0].Split, cards[0].Slices = true, []gpu.Slice{{UUID: "MIG-a", Profile: "1g.12gb"}, {Index: 1, UUID: "MIG-b", Profile: "1g.12gb"}}
	if got := ask(mode...); got != "Enabled, [N/A]\n" {
		t.Errorf("split: %q", got)
	}
	want := "  MIG 1g.12gb     Device  0: (UUID: MIG-a)\n  MIG 1g.12gb     Device  1: (UUID: MIG-b)\n"
	if got := ask("-L"); !strings.HasSuffix(got, want) {
		t.Errorf("-L: %q", got)
	}
	ask("-c", "EXCLUSIVE_PROCESS")
	if got := ask("--query-gpu=compute_mode", "--format=csv,noheader"); got != "Exclusive_Process\n" {
		t.Errorf("compute mode: %q", got)
	}
}
