// Package addons emulates Talos' ManifestApplyController. It creates the missing objects of a control plane's
// manifests, and never changes existing ones (talos v1.13.0
// internal/app/machined/pkg/controllers/k8s/manifest_apply.go).
package addons

import (
	"context"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/talos/manifests"
)

// fieldManager is the manager of Talos' changes (constants.KubernetesFieldManagerName).
const fieldManager = "talos"

// retry is the time between two attempts, in real time.
const retry = time.Second

// resources are the resources of the kinds in the manifests.
var resources = map[string]string{"DaemonSet": "daemonsets", "Deployment": "deployments"}

// Keep creates what a control plane's manifests have and the cluster lacks, until ctx ends.
func Keep(ctx context.Context, client dynamic.Interface, machine host.Machine) error {
	return host.EachBoot(ctx, machine, func(host.Snapshot) (changed, stop func(), err error) {
		ctx, cancel := context.WithCancel(ctx)
		wake, ended := make(chan struct{}, 1), make(chan struct{})
		changed = func() {
			select {
			case wake <- struct{}{}:
			default:
			}
		}
		go func() {
			defer close(ended)
			run(ctx, client, machine, wake)
		}()
		return changed, func() { cancel(); <-ended }, nil
	})
}

func run(ctx context.Context, client dynamic.Interface, machine host.Machine, wake <-chan struct{}) {
	said := ""
	for {
		var again <-chan time.Time
		if err := create(ctx, client, machine); err != nil && ctx.Err() == nil {
			if err.Error() != said {
				said = err.Error()
				fmt.Fprintf(os.Stderr, "machines: %s: manifests: %v\n", machine.Name(), err)
			}
			again = time.After(retry)
		}
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-again:
		}
	}
}

func create(ctx context.Context, client dynamic.Interface, machine host.Machine) error {
	for _, manifest := range manifests.Of(machine.Snapshot().Config) {
		for _, object := range manifest.Objects {
			if err := createMissing(ctx, client, object); err != nil {
				return err
			}
		}
	}
	return nil
}

func createMissing(ctx context.Context, client dynamic.Interface, object unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	resource := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: resources[kind.Kind]}
	in := client.Resource(resource).Namespace(object.GetNamespace())
	if _, err := in.Get(ctx, object.GetName(), metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return err
	}
	_, err := in.Apply(ctx, object.GetName(), &object, metav1.ApplyOptions{FieldManager: fieldManager})
	return err
}
