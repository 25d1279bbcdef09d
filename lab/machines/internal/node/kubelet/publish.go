package kubelet

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AddressAnnotation of a pod names the address of this computer that stands for the port that it opened last. Only the
// lab has it.
const AddressAnnotation = "lab.talos-gpu.dev/address"

// resync is how soon the kubelet's status manager tries again (kubernetes pkg/kubelet/status/status_manager.go, syncPeriod).
const resync = 10 * time.Second

// publish writes the pod's status when it differs from what was written last.
func (w *worker) publish(ctx context.Context) {
	w.publishing.Lock()
	defer w.publishing.Unlock()
	pod := w.latest()
	status, address := statusOf(pod, w.state, w.session.machine.Address(), metav1.Now()), w.state.servedAt()
	if w.published != nil && sameStatus(*w.published, status) && w.publishedAddress == address {
		return
	}
	body, err := statusPatch(pod, status, address)
	if err != nil {
		w.session.logf("status of pod %s: %v", w.name(), err)
		return
	}
	// A pod that is being stopped must still say how it ended, and a machine that goes down writes nothing.
	patching, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if w.session.ctx.Err() != nil {
		return
	}
	_, err = w.session.client.CoreV1().Pods(pod.Namespace).Patch(patching, pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	switch {
	case err == nil:
		w.published, w.publishedAddress = &status, address
	case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
		w.session.logf("status of pod %s: %v", w.name(), err)
		w.session.later(resync, func() { w.publish(ctx) })
	}
}

// sameStatus leaves out the times at which conditions changed, which follow from the rest.
func sameStatus(a, b corev1.PodStatus) bool {
	strip := func(status corev1.PodStatus) corev1.PodStatus {
		status = *status.DeepCopy()
		for i := range status.Conditions {
			status.Conditions[i].LastTransitionTime = metav1.Time{}
		}
		return status
	}
	return reflect.DeepEqual(strip(a), strip(b))
}

// statusPatch merges into what others wrote (the scheduler's condition). Reason and message go when empty. The UID keeps
// the patch off a successor of the same name.
func statusPatch(pod *corev1.Pod, status corev1.PodStatus, address string) ([]byte, error) {
	encoded, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	var fields map[string]any
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return nil, err
	}
	clearEmpty(fields)
	onlyThese(fields, "podIPs", "podIP")
	if list, ok := fields["conditions"].([]any); ok {
		for _, item := range list {
			clearEmpty(item.(map[string]any)) // what a condition no longer says would stay in the merge
		}
	}
	metadata := map[string]any{"uid": pod.UID}
	if address != "" {
		metadata["annotations"] = map[string]string{AddressAnnotation: address}
	}
	return json.Marshal(map[string]any{"metadata": metadata, "status": fields})
}

// onlyThese replaces addresses of before a reboot, with which a merge would keep the new ones; without any they go.
func onlyThese(fields map[string]any, list, first string) {
	addresses, some := fields[list].([]any)
	if !some {
		fields[list], fields[first] = nil, nil
		return
	}
	fields[list] = append([]any{map[string]any{"$patch": "replace"}}, addresses...)
}

// clearEmpty removes reason and message in a merge when they are not set.
func clearEmpty(fields map[string]any) {
	for _, name := range []string{"reason", "message"} {
		if _, set := fields[name]; !set {
			fields[name] = nil
		}
	}
}
