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
	settings := NewSettings()
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
		{"--query-gpu=index,name,driver_version,memory.total,power.limit,persistence_mode --format=csv", up, 0,
			"index, name, driver_version, memory.total [MiB], power.limit [W], persistence_mode\n0, NVIDIA H200, 580.159.04, 143771 MiB, 700.00 W, Enabled\n1, NVIDIA H200"},
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
