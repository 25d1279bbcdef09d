// Package inputs is what a pod's containers get from the API server's objects and from the machine's folders: their environment
// and their volumes.
package inputs

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Source looks up what environment variables and volumes refer to.
type Source struct {
	configMap func(name string) (*corev1.ConfigMap, error)
	secret    func(name string) (*corev1.Secret, error)
	podIP     string
	hostIP    string
}

// From reads with the kubelet's own rights: only what pods of this node use (Node authorizer).
func From(ctx context.Context, client kubernetes.Interface, namespace, podIP, hostIP string) Source {
	core := client.CoreV1()
	return Source{
		configMap: func(name string) (*corev1.ConfigMap, error) {
			found, err := core.ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
			return found, asKubelet(err, "configmap", name)
		},
		secret: func(name string) (*corev1.Secret, error) {
			found, err := core.Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
			return found, asKubelet(err, "secret", name)
		},
		podIP:  podIP,
		hostIP: hostIP,
	}
}

// asKubelet words what is not there as the kubelet does, which asks its own store (kubernetes pkg/kubelet/util/manager/watch_based_manager.go).
func asKubelet(err error, kind, name string) error {
	if apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %q not found", kind, name)
	}
	return err
}

func optionally(optional *bool, err error) error {
	if optional != nil && *optional {
		return nil
	}
	return err
}
