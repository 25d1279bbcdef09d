package driver

import (
	"strings"
	"testing"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

func TestSMI(t *testing.T) {
	cards := gpu.Unsplit("m", host.Snapshot{GPUs: []host.GPU{{Model: "H200", Count: 2, MinPowerW: 200, MaxPowerW: 700, DefaultPowerW: 700}}})
	for _, test := range []struct {
		arguments, version, libraries string
		user                          bool
		code                          int
		want                          string
	}{
		{"", "", "", false, 9, "couldn't communicate with the NVIDIA driver"},
		{"", "580.1", "570.1", false, 18, "Driver/library version mismatch"},
		{"", "580.1", "580.1", false, 0, "GPU 0: NVIDIA H200 (UUID: GPU-"},
		{"-L", "580.1", "580.1", false, 0, "GPU 1: NVIDIA H200 (UUID: GPU-"},
		{"--query-gpu=index,power.limit,power.draw --format=csv,noheader,nounits", "580.1", "580.1", false, 0, "0, 700.00, 70.00\n1, 700.00, 70.00\n"},
		{"-pm 1", "580.1", "580.1", false, 0, "All done."},
		{"-i 1 -pl 100", "580.1", "580.1", false, 2, "between 200.00 W and 700.00 W for GPU 1"},
		{"-i 1 -pl 300", "580.1", "580.1", true, 4, "Insufficient Permissions"},
		{"-i 1 -pl 300", "580.1", "580.1", false, 0, "Power limit for GPU 1 was set to 300.00 W from 700.00 W."},
		{"--query-gpu=nonsense", "580.1", "580.1", false, 2, "is not a valid field to query"},
		{"--version -i 5", "580.1", "580.1", false, 0, "DRIVER version      : 580.1"},
		{"-i 5", "580.1", "580.1", false, 6, "No devices were found"},
	} {
		var out strings.Builder
		if code := smi(&out, strings.Fields(test.arguments), test.version, test.libraries, cards, !test.user); code != test.code || !strings.Contains(out.String(), test.want) {
			t.Errorf("nvidia-smi %s: exit %d\n%s", test.arguments, code, out.String())
		}
	}
}
