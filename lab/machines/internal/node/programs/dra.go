package programs

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// DRADriver is the name of NVIDIA's driver for dynamic resource allocation, and the domain of its attributes.
const DRADriver = "gpu.nvidia.com"

// draPrestart is hack/kubelet-plugin-prestart.sh. It waits until the driver root has the library and nvidia-smi as a
// file. On Talos this root is /usr/local, since 1.13.
func draPrestart(ctx context.Context, c *Container) int {
	for root := c.Env["NVIDIA_DRIVER_ROOT"]; root != "/usr/local" || !c.mountsDriver("/driver-root-parent", "/usr"); {
		c.Logf("/driver-root (%s on host): nvidia-smi: not found, libnvidia-ml.so.1: not found", root)
		if c.Machine.Clock().Sleep(ctx, 10*time.Second) != nil {
			return ExitTerminated
		}
	}
	c.Logf("nvidia-smi returned with code 0: success, leave")
	return 0
}

// draDriver is cmd/gpu-kubelet-plugin. It publishes the cards of its node until it stops. The kubelet deletes the
// ResourceSlice half a minute after that (kubernetes pkg/kubelet/cm/dra/manager.go, defaultWipingDelay). Here the
// driver deletes it at once.
func draDriver(ctx context.Context, c *Container) int {
	if !c.mountsDriver(driverRoot, "/usr/local") {
		return c.Fails("Error: error creating driver: failed to create device library: failed to locate driver libraries: error locating \"libnvidia-ml.so.1\"")
	}
	node := c.Machine.Name()
	slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node + "-" + DRADriver}, Spec: resourcev1.ResourceSliceSpec{
		Driver:   DRADriver,
		NodeName: &node,
		Pool:     resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
	}}
	for _, card := range gpu.Cards(c.Machine) {
		slice.Spec.Devices = append(slice.Spec.Devices, draDevice(card, c.Machine.Snapshot().DriverVersion))
	}
	slices := c.Client.ResourceV1().ResourceSlices()
	_ = slices.Delete(ctx, slice.Name, metav1.DeleteOptions{}) // the slice of the previous boot
	if _, err := slices.Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		return c.Fails("error publishing resources: %v", err)
	}
	c.Machine.Event("DRA driver publishes %d cards", len(slice.Spec.Devices))
	code := c.Rests(ctx)
	last, done := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer done()
	_ = slices.Delete(last, slice.Name, metav1.DeleteOptions{})
	return code
}

// draDevice returns a whole card as the driver publishes it (dra-driver-nvidia-gpu v0.5.0
// cmd/gpu-kubelet-plugin/deviceinfo.go, partitions.go), without its PCIe root and NUMA node.
// lab/tests/real-node/claims.test.ts compares the two.
func draDevice(card gpu.Card, driver string) resourcev1.Device {
	text := func(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &s} }
	version := func(s string) resourcev1.DeviceAttribute {
		var parts [3]int // a semantic version has three parts without leading zeros
		for i, part := range strings.SplitN(s, ".", 3) {
			parts[i], _ = strconv.Atoi(part)
		}
		whole := fmt.Sprintf("%d.%d.%d", parts[0], parts[1], parts[2])
		return resourcev1.DeviceAttribute{VersionValue: &whole}
	}
	bus := card.BusID()
	return resourcev1.Device{
		Name: fmt.Sprintf("gpu-%d", card.Index),
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"type": text("gpu"), "uuid": text(card.UUID), "productName": text(card.ProductName()), "architecture": text(architectureOf(card.ComputeCapability)),
			"cudaComputeCapability": version(card.ComputeCapability), "driverVersion": version(driver),
			"brand": text(card.Brand()), "cudaDriverVersion": version(gpu.CUDAVersion(driver)), "resource.kubernetes.io/pciBusID": {StringValue: &bus},
		},
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
			"memory": {Value: *resource.NewQuantity(int64(card.MemoryMiB)<<20, resource.BinarySI)},
		},
	}
}

// architectureOf returns go-nvlib's name of an architecture (v0.10.0 pkg/nvlib/device/device.go,
// GetArchitectureAsString).
func architectureOf(capability string) string {
	names := map[string]string{"5": "Maxwell", "6": "Pascal", "7": "Volta", "7.5": "Turing", "8": "Ampere", "8.9": "Ada Lovelace", "9": "Hopper", "10": "Blackwell", "12": "Blackwell"}
	if name, exact := names[capability]; exact {
		return name
	}
	major, _, _ := strings.Cut(capability, ".")
	return names[major]
}
