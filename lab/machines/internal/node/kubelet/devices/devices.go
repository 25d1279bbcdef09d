// Package devices emulates the kubelet's device manager: it knows the registered device plugins and which pod has which
// device.
package devices

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// Allocation is a device plugin's answer for the devices of one container. It has the parts of deviceplugin v1beta1
// ContainerAllocateResponse that the lab uses.
type Allocation struct {
	// Devices has UUIDs. The container gets them in NVIDIA_VISIBLE_DEVICES or, with ByCDI, as CDI devices.
	Devices []string
	ByCDI   bool
}

// Plugin is a registered device plugin.
type Plugin struct {
	Resource string   // e.g. nvidia.com/gpu
	Devices  []string // identifiers of the healthy devices
	// Allocate answers for the devices of one container. If it returns an error, the pod is not admitted.
	Allocate func(devices []string) (Allocation, error)
}

// Manager emulates the kubelet's device manager (kubernetes v1.36 pkg/kubelet/cm/devicemanager/manager.go).
type Manager struct {
	mutex    sync.Mutex
	plugins  map[string]*Plugin
	assigned map[string]string // the pod that has a device, by device
	changed  func()
}

// NewManager returns a Manager that calls changed after every change of what the node offers.
func NewManager(changed func()) *Manager {
	return &Manager{plugins: map[string]*Plugin{}, assigned: map[string]string{}, changed: changed}
}

// Register makes a plugin's devices allocatable until the returned function is called.
func (d *Manager) Register(plugin Plugin) (unregister func()) {
	set := func(from, to *Plugin) {
		d.mutex.Lock()
		if from == nil || d.plugins[plugin.Resource] == from {
			d.plugins[plugin.Resource] = to
		}
		d.mutex.Unlock()
		d.changed()
	}
	set(nil, &plugin)
	return func() { set(&plugin, nil) }
}

// Offer returns the number of devices per resource. A resource whose plugin has stopped since the boot has 0.
func (d *Manager) Offer() map[string]int {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	offered := map[string]int{}
	for resource, plugin := range d.plugins {
		if offered[resource] = 0; plugin != nil {
			offered[resource] = len(plugin.Devices)
		}
	}
	return offered
}

// allocate assigns count devices of a resource to a pod. After an error, the caller frees the pod's devices. The error
// texts are the kubelet's (devicesToAllocate).
func (d *Manager) allocate(pod, resource string, count int) (Allocation, error) {
	d.mutex.Lock()
	plugin := d.plugins[resource]
	if plugin == nil {
		d.mutex.Unlock()
		return Allocation{}, fmt.Errorf("no healthy devices present; cannot allocate unhealthy devices %s", resource)
	}
	var chosen []string
	for _, device := range plugin.Devices {
		if _, taken := d.assigned[device]; !taken && len(chosen) < count {
			chosen = append(chosen, device)
		}
	}
	for _, device := range chosen {
		d.assigned[device] = pod
	}
	d.mutex.Unlock()
	if len(chosen) < count {
		return Allocation{}, fmt.Errorf("requested number of devices unavailable for %s. Requested: %d, Available: %d", resource, count, len(chosen))
	}
	allocation, err := plugin.Allocate(chosen)
	if err != nil {
		err = fmt.Errorf("rpc error: code = Unknown desc = %w", err)
	}
	return allocation, err
}

// Free releases the devices of a pod.
func (d *Manager) Free(pod string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	maps.DeleteFunc(d.assigned, func(_, owner string) bool { return owner == pod })
}

// merge joins the allocations of several resources for one container.
func (a Allocation) merge(other Allocation) Allocation {
	return Allocation{Devices: slices.Concat(a.Devices, other.Devices), ByCDI: a.ByCDI || other.ByCDI}
}

// Admit allocates devices for every container of a pod before the pod starts, and returns each container's allocation.
// Init containers use the devices of the containers, because they run first (kubernetes pkg/kubelet/cm/devicemanager:
// devices of init containers are reused).
func (d *Manager) Admit(pod *corev1.Pod) (map[string]Allocation, error) {
	allocations, shared := map[string]Allocation{}, Allocation{}
	for _, container := range pod.Spec.Containers {
		for resource, quantity := range container.Resources.Limits {
			if !IsDevice(string(resource)) || quantity.IsZero() || claimed(pod, container.Name, string(resource)) {
				continue
			}
			allocation, err := d.allocate(string(pod.UID), string(resource), int(quantity.Value()))
			if err != nil {
				d.Free(string(pod.UID))
				return nil, err
			}
			allocations[container.Name] = allocations[container.Name].merge(allocation)
			shared = shared.merge(allocation)
		}
	}
	for _, container := range pod.Spec.InitContainers {
		for resource, quantity := range container.Resources.Limits {
			if IsDevice(string(resource)) && !quantity.IsZero() {
				allocations[container.Name] = shared
			}
		}
	}
	return allocations, nil
}

// claimed reports whether the scheduler has made a claim for a container's request of a resource. Then no plugin
// allocates it.
func claimed(pod *corev1.Pod, container, resource string) bool {
	extended := pod.Status.ExtendedResourceClaimStatus
	return extended != nil && slices.ContainsFunc(extended.RequestMappings, func(mapping corev1.ContainerExtendedResourceRequest) bool {
		return mapping.ContainerName == container && mapping.ResourceName == resource
	})
}

// IsDevice reports whether a resource is an extended resource, which a device plugin offers.
func IsDevice(resource string) bool {
	switch corev1.ResourceName(resource) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return false
	}
	return !strings.HasPrefix(resource, corev1.ResourceHugePagesPrefix)
}
