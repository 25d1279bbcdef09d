// Package devices is the kubelet's device manager: which device plugins there are, and which container has which of their
// devices.
package devices

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// Allocation is what a device plugin answers for the devices that a container gets (deviceplugin v1beta1
// ContainerAllocateResponse, as far as the lab uses it).
type Allocation struct {
	// Devices by their UUIDs, in NVIDIA_VISIBLE_DEVICES or, ByCDI, as devices that the CDI specification names.
	Devices []string
	ByCDI   bool
}

// Plugin is a registered device plugin.
type Plugin struct {
	Resource string   // Resource, e.g. nvidia.com/gpu.
	Devices  []string // Devices that are healthy, by identifier
	// Allocate answers for devices of one container. An error refuses the pod.
	Allocate func(devices []string) (Allocation, error)
}

// Manager is the kubelet's (kubernetes v1.36 pkg/kubelet/cm/devicemanager/manager.go).
type Manager struct {
	mutex    sync.Mutex
	plugins  map[string]*Plugin
	assigned map[string]string // device to the pod that has it
	changed  func()
}

// NewManager: changed is called after every change of what the node offers.
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

// Offer is how many devices of each resource there are now, of all that had a plugin in this boot.
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

// allocate assigns count devices of a resource to a pod, which gives them back where that fails. The errors are the kubelet's (devicesToAllocate).
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

// Free gives back the devices of a pod.
func (d *Manager) Free(pod string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	maps.DeleteFunc(d.assigned, func(_, owner string) bool { return owner == pod })
}

// merge joins what several resources bring to one container.
func (a Allocation) merge(other Allocation) Allocation {
	return Allocation{Devices: slices.Concat(a.Devices, other.Devices), ByCDI: a.ByCDI || other.ByCDI}
}

// Admit allocates devices for every container of a pod, before anything of the pod is made, and returns what each container
// gets. Init containers run with those of the containers, which come after them (kubernetes pkg/kubelet/cm/devicemanager:
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

// claimed says that the scheduler has claimed devices for a container's request of a resource, which then no plugin is asked for.
func claimed(pod *corev1.Pod, container, resource string) bool {
	extended := pod.Status.ExtendedResourceClaimStatus
	return extended != nil && slices.ContainsFunc(extended.RequestMappings, func(mapping corev1.ContainerExtendedResourceRequest) bool {
		return mapping.ContainerName == container && mapping.ResourceName == resource
	})
}

// IsDevice says that a resource is an extended one, which some device plugin offers.
func IsDevice(resource string) bool {
	switch corev1.ResourceName(resource) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return false
	}
	return !strings.HasPrefix(resource, corev1.ResourceHugePagesPrefix)
}
