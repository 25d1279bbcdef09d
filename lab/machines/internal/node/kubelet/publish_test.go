package kubelet

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// A pod that outlives a reboot gets another address, or for a moment none.
func TestStatusPatchReplacesAddresses(t *testing.T) {
	pod := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.244.0.4", PodIPs: []corev1.PodIP{{IP: "10.244.0.4"}}}}
	before, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"", "10.244.0.8"} {
		status := corev1.PodStatus{Phase: corev1.PodRunning, PodIP: address}
		if address != "" {
			status.PodIPs = []corev1.PodIP{{IP: address}}
		}
		patch, err := statusPatch(pod, status, "")
		if err != nil {
			t.Fatal(err)
		}
		merged, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
		if err != nil {
			t.Fatal(err)
		}
		var after corev1.Pod
		if err := json.Unmarshal(merged, &after); err != nil {
			t.Fatal(err)
		}
		if after.Status.PodIP != address || len(after.Status.PodIPs) != len(status.PodIPs) || address != "" && after.Status.PodIPs[0].IP != address {
			t.Errorf("with %q: %q, %v", address, after.Status.PodIP, after.Status.PodIPs)
		}
	}
}
