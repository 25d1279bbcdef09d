// Package addons emulates Talos' ManifestApplyController. It creates the missing objects of a control plane's
// manifests, and never changes existing ones (talos v1.13.0
// internal/app/machined/pkg/controllers/k8s/manifest_apply.go).
package addons

import (
	"context"
	"fmt"
	"os"

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

// resources are the resources of the kinds in the manifests.
var resources = map[string]string{"DaemonSet": "daemonsets", "Deployment": "deployments"}

// Keep creates what a control plane's manifests have and the cluster lacks, until ctx ends.
func Keep(ctx context.Context, client dynamic.Interface, machine host.Machine) error {
	loop, said := host.NewLoop(), map[string]bool{}
	report := func(err error) {
		if !said[err.Error()] {
			said[err.Error()] = true
			fmt.Fprintf(os.Stderr, "machines: %s: manifests: %v\n", machine.Name(), err)
		}
	}
	return loop.EachBoot(ctx, machine, func() (func(context.Context), error) {
		return func(ctx context.Context) {
			loop.Changed()
			loop.Run(ctx, machine.Clock(), func() error { return create(ctx, client, machine) }, report)
		}, nil
	})
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
