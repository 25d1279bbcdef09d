package kubelet

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/cri"
)

// sandbox finds the pod's runtime handler and gives it an address.
func (w *worker) sandbox(ctx context.Context) error {
	class := ""
	if name := w.pod.Spec.RuntimeClassName; name != nil {
		runtimeClass, err := w.session.client.NodeV1().RuntimeClasses().Get(ctx, *name, metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("failed to get sandbox runtime handler: %w", err)
		}
		class = runtimeClass.Handler
	}
	snapshot := w.session.machine.Snapshot()
	handler, err := cri.Handler(snapshot, class)
	if err != nil && snapshot.Era == host.EraCDI { // containerd 2.2
		return fmt.Errorf("rpc error: code = Unknown desc = unable to get OCI runtime for sandbox %q: %w", randomID(), err)
	}
	if err != nil {
		return fmt.Errorf("rpc error: code = Unknown desc = failed to get sandbox runtime: %w", err)
	}
	w.handler = handler
	if w.podIP != "" {
		return nil
	}
	if w.pod.Spec.HostNetwork {
		w.podIP = w.session.machine.Address()
		return nil
	}
	w.podIP, err = w.session.nextPodIP(ctx)
	return err
}

// nextPodIP takes the next address of the node's pod network. The controller manager assigns the network a moment after
// the node registered; before, no CNI plugin is ready.
func (s *session) nextPodIP(ctx context.Context) (string, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.podNetwork.IsValid() {
		node, err := s.client.CoreV1().Nodes().Get(ctx, s.machine.Name(), metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		s.podNetwork, err = netip.ParsePrefix(node.Spec.PodCIDR)
		if err != nil {
			return "", fmt.Errorf("rpc error: code = Unknown desc = failed to setup network for sandbox: the node has no podCIDR yet")
		}
		s.podAddress = s.podNetwork.Addr().Next()
	}
	s.podAddress = s.podAddress.Next()
	if !s.podNetwork.Contains(s.podAddress) {
		s.podAddress = s.podNetwork.Addr().Next().Next()
	}
	return s.podAddress.String(), nil
}

// isMirrored says that nobody but the kubelet made the pod; the lab makes none, Talos' static pods are not emulated.
func isMirrored(pod *corev1.Pod) bool {
	_, mirrored := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirrored
}

// randomID looks like one of containerd's.
func randomID() string {
	id := make([]byte, 32)
	_, _ = rand.Read(id)
	return hex.EncodeToString(id)
}

func containerID() string { return "containerd://" + randomID() }
