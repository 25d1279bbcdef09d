package registration

import (
	"runtime"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/host"
)

// nodeObject is the Node as a kubelet registers it: not ready yet, with its own labels and, once, registerWithTaints
// (kubernetes v1.36 pkg/kubelet/kubelet_node_status.go, initialNode).
func nodeObject(name, address string, port int32, s host.Snapshot) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: name,
			Labels: map[string]string{
				corev1.LabelHostname:      name,
				corev1.LabelOSStable:      "linux",
				corev1.LabelArchStable:    runtime.GOARCH,
				"beta.kubernetes.io/os":   "linux",
				"beta.kubernetes.io/arch": runtime.GOARCH,
			},
			Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
		},
	}
	node.Spec.Taints = s.RegisterWithTaints
	node.Status = nodeStatus(name, address, port, s)
	return node
}

// The lab's machines are all of one size, generous enough that memory and CPU never decide what is scheduled.
var machineSize = corev1.ResourceList{
	corev1.ResourceCPU:              resource.MustParse("32"),
	corev1.ResourceMemory:           resource.MustParse("256Gi"),
	corev1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	corev1.ResourcePods:             resource.MustParse("110"),
}

func nodeStatus(name, address string, port int32, s host.Snapshot) corev1.NodeStatus {
	kubernetes := s.KubernetesVersion
	if kubernetes != "" && !strings.HasPrefix(kubernetes, "v") {
		kubernetes = "v" + kubernetes
	}
	return corev1.NodeStatus{
		Capacity:    machineSize.DeepCopy(),
		Allocatable: machineSize.DeepCopy(),
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: address},
			{Type: corev1.NodeHostName, Address: name},
		},
		DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: port}},
		NodeInfo: corev1.NodeSystemInfo{
			MachineID:               host.Identifier(name, "machine"),
			SystemUUID:              host.Identifier(name, "system"),
			BootID:                  s.BootID,
			KernelVersion:           "emulated",
			OSImage:                 "Talos (" + s.TalosVersion + ")",
			ContainerRuntimeVersion: "containerd://emulated",
			KubeletVersion:          kubernetes,
			OperatingSystem:         "linux",
			Architecture:            runtime.GOARCH,
		},
	}
}

// readiness is the node's Ready condition and its quiet companions.
func readiness(ready bool, why string, now metav1.Time) []corev1.NodeCondition {
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: status, Reason: reason, Message: message, LastHeartbeatTime: now, LastTransitionTime: now}
	}
	conditions := []corev1.NodeCondition{
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
	}
	if ready {
		return append(conditions, condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady", "kubelet is posting ready status"))
	}
	return append(conditions, condition(corev1.NodeReady, corev1.ConditionFalse, "KubeletNotReady", why))
}
