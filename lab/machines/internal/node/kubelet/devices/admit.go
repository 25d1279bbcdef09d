package devices

import (
	corev1 "k8s.io/api/core/v1"
)

// Admit allocates devices for every container of a pod, before anything of the pod is made, and returns what each container
// gets. Init containers run with those of the containers, which come after them (kubernetes pkg/kubelet/cm/devicemanager:
// devices of init containers are reused).
func (d *Manager) Admit(pod *corev1.Pod) (map[string]Allocation, error) {
	allocations, shared := map[string]Allocation{}, Allocation{}
	for _, container := range pod.Spec.Containers {
		for resource, quantity := range container.Resources.Limits {
			if !IsDevice(string(resource)) || quantity.IsZero() {
				continue
			}
			allocation, err := d.Allocate(string(pod.UID), container.Name, string(resource), int(quantity.Value()))
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

// IsDevice says that a resource is an extended one, which some device plugin offers.
func IsDevice(resource string) bool {
	switch corev1.ResourceName(resource) {
	case corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return false
	}
	return !isHugePage(resource)
}

func isHugePage(resource string) bool {
	return len(resource) > len(corev1.ResourceHugePagesPrefix) && resource[:len(corev1.ResourceHugePagesPrefix)] == corev1.ResourceHugePagesPrefix
}
