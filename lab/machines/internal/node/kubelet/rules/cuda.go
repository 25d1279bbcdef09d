package rules

import (
	"context"
	"regexp"
	"strconv"
	"time"

	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/node/kubelet/smi"
	"talos-gpu/lab/machines/internal/node/kubelet/version"
)

// cudaFloor is the oldest driver that runs any minor version of a CUDA major (docs.nvidia.com/deploy/cuda-compatibility).
var cudaFloor = map[int]string{11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}

// firstCUDA is the toolkit that first compiled for a compute capability, lastMajor the last major that still does
// (CUDA release notes).
var firstCUDA = map[string]float64{"7.5": 10.0, "8.0": 11.0, "8.6": 11.1, "8.9": 11.8, "9.0": 11.8, "10.0": 12.8, "12.0": 12.8}

var cudaTag = regexp.MustCompile(`cuda-?(\d+)\.(\d+)`)

// torchTag is how images name the CUDA that their PyTorch is built with, e.g. cu128.
var torchTag = regexp.MustCompile(`cu(?:da)?(\d{3})`)

// cudaError is the runtime's message when a program of that CUDA release cannot use the card with that driver; "" when it can.
func cudaError(major, minor int, driver, capability string) string {
	if floor, known := cudaFloor[major]; known && version.Compare(driver, floor) < 0 {
		return "CUDA driver version is insufficient for CUDA runtime version"
	}
	toolkit, _ := strconv.ParseFloat(strconv.Itoa(major)+"."+strconv.Itoa(minor), 64)
	cc, _ := strconv.ParseFloat(capability, 64)
	if major >= 13 && cc > 0 && cc < 7.5 {
		return "no kernel image is available for execution on the device"
	}
	// Without code for the card, the driver compiles the PTX, which takes a driver at least as new as the toolkit.
	first, known := firstCUDA[capability]
	newest, err := strconv.ParseFloat(smi.CUDAVersion(driver), 64)
	if known && toolkit < first && err == nil && newest < toolkit {
		return "the provided PTX was compiled with an unsupported toolchain."
	}
	return ""
}

// vectorAdd is the CUDA sample: it allocates, adds, and compares.
func vectorAdd(ctx context.Context, c *cri.Container) int {
	if c.Machine.Clock().Sleep(ctx, 3*time.Second) != nil {
		return 143
	}
	c.Logf("[Vector addition of 50000 elements]")
	fail := func(why string) int {
		c.Logf("Failed to allocate device vector A (error code %s)!", why)
		return 1
	}
	switch {
	case !c.Libraries:
		return fail("CUDA driver version is insufficient for CUDA runtime version") // libcuda.so.1 is not there
	case len(c.GPUs) == 0, c.GPUs[0].Split && len(c.GPUs[0].Slices) == 0: // a split card computes by its MIG devices alone
		return fail("no CUDA-capable device is detected")
	}
	snapshot := c.Machine.Snapshot()
	if !loaded(snapshot.Modules, "nvidia_uvm") {
		return fail("unknown error") // /dev/nvidia-uvm is missing (gpu-operator#2685)
	}
	if found := cudaTag.FindStringSubmatch(version.OfImage(c.Spec.Image)); found != nil {
		major, _ := strconv.Atoi(found[1])
		minor, _ := strconv.Atoi(found[2])
		if why := cudaError(major, minor, snapshot.DriverVersion, c.GPUs[0].ComputeCapability); why != "" {
			return fail(why)
		}
	}
	c.Logf("Copy input data from the host memory to the CUDA device")
	c.Logf("CUDA kernel launch with 196 blocks of 256 threads")
	c.Logf("Copy output data from the CUDA device to the host memory")
	c.Logf("Test PASSED\nDone")
	return 0
}

func loaded(modules []string, name string) bool {
	for _, module := range modules {
		if module == name {
			return true
		}
	}
	return false
}
