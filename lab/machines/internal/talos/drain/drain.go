// Package drain cordons and drains nodes the way the old upgrade API does it on the machine itself.
package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// cordonedByTalos marks a node that Talos itself has cordoned (talos v1.13.0 constants.AnnotationCordonedKey).
const cordonedByTalos = "talos.dev/cordoned"

// Nodes is the nodes of a cluster.
type Nodes struct {
	client kubernetes.Interface
}

// New reaches a cluster by a kubeconfig file.
func New(kubeconfig string) (*Nodes, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}

	client, err := kubernetes.NewForConfig(config)

	return &Nodes{client: client}, err
}

// Drain cordons a node and evicts its pods, but for those of DaemonSets and static ones (talos v1.13.0
// pkg/kubernetes/kubernetes.go, Drain). It ends with ctx where a disruption budget holds a pod. A machine without a node
// has nothing to drain.
func (n *Nodes) Drain(ctx context.Context, node string) error {
	current, err := n.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}

	if err != nil {
		return err
	}

	if !current.Spec.Unschedulable {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}},"spec":{"unschedulable":true}}`, cordonedByTalos)
		if err := n.patch(ctx, node, patch); err != nil {
			return err
		}
	}

	pods, err := n.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	if err != nil {
		return err
	}

	var problems []error

	for i := range pods.Items {
		if stays(&pods.Items[i]) {
			continue
		}

		problems = append(problems, n.evict(ctx, &pods.Items[i]))
	}

	return errors.Join(problems...)
}

// Uncordon makes a node schedulable again if Drain had cordoned it.
func (n *Nodes) Uncordon(ctx context.Context, node string) error {
	current, err := n.client.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && current.Annotations[cordonedByTalos] == "" {
		return nil
	}

	if err != nil {
		return err
	}

	return n.patch(ctx, node, fmt.Sprintf(`{"metadata":{"annotations":{%q:null}},"spec":{"unschedulable":null}}`, cordonedByTalos))
}

func (n *Nodes) patch(ctx context.Context, node, patch string) error {
	_, err := n.client.CoreV1().Nodes().Patch(ctx, node, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "talos"})

	return err
}

func stays(pod *corev1.Pod) bool {
	if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		return true
	}

	owner := metav1.GetControllerOf(pod)

	return owner != nil && owner.Kind == "DaemonSet"
}

// evict a pod and wait until it has gone.
func (n *Nodes) evict(ctx context.Context, pod *corev1.Pod) error {
	err := wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		err := n.client.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: pod.Name, Namespace: pod.Namespace}})

		switch {
		case apierrors.IsNotFound(err):
			return true, nil
		case err != nil && !apierrors.IsTooManyRequests(err):
			return false, err
		}

		current, err := n.client.CoreV1().Pods(pod.Namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) || err == nil && current.UID != pod.UID {
			return true, nil
		}

		return false, nil
	})
	if err != nil {
		return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}

	return nil
}
