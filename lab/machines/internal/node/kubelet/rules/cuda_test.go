package rules

import "testing"

func TestCUDAError(t *testing.T) {
	for _, test := range []struct {
		major, minor       int
		driver, capability string
		want               string
	}{
		{12, 5, "570.211.01", "12.0", ""},
		{12, 8, "535.247.01", "9.0", ""}, // minor version compatibility
		{13, 0, "570.211.01", "12.0", "CUDA driver version is insufficient for CUDA runtime version"},
		{12, 0, "525.60.12", "8.0", "CUDA driver version is insufficient for CUDA runtime version"},
		{13, 0, "580.126.20", "7.0", "no kernel image is available for execution on the device"},
		{12, 6, "535.247.01", "12.0", "the provided PTX was compiled with an unsupported toolchain."},
	} {
		if got := cudaError(test.major, test.minor, test.driver, test.capability); got != test.want {
			t.Errorf("CUDA %d.%d, driver %s, cc %s: %q, want %q", test.major, test.minor, test.driver, test.capability, got, test.want)
		}
	}
}
