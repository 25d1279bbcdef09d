package operator

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
)

func TestAChangeStirs(t *testing.T) {
	kinds := map[schema.GroupVersionResource]string{policies: "ClusterPolicyList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds)
	stirs := stirredBy(t.Context(), client, policies)
	<-stirs // the signal at the start
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": map[string]any{"name": "cluster-policy"},
	}}
	changes := map[string]func() error{
		"created": func() error {
			_, err := client.Resource(policies).Create(t.Context(), object, metav1.CreateOptions{})
			return err
		},
		"changed": func() error {
			object.SetLabels(map[string]string{"rack": "7"})
			_, err := client.Resource(policies).Update(t.Context(), object, metav1.UpdateOptions{})
			return err
		},
		"deleted": func() error {
			return client.Resource(policies).Delete(t.Context(), object.GetName(), metav1.DeleteOptions{})
		},
	}
	for _, change := range []string{"created", "changed", "deleted"} {
		if err := changes[change](); err != nil {
			t.Fatal(err)
		}
		<-stirs // without a signal the test hangs until its time limit
	}
	select {
	case <-stirs:
		t.Error("a signal without a change")
	case <-time.After(50 * time.Millisecond):
	}
}

func TestEachRepeatsWhatFails(t *testing.T) {
	stirs := make(stir, 1)
	stirs.again()
	ctx, cancel := context.WithCancel(t.Context())
	pauses, acts := 0, 0
	stirs.each(ctx, func() error { pauses++; return nil }, func() error {
		if acts++; acts < 3 {
			return errors.New("busy")
		}
		cancel()
		return nil
	})
	if pauses != 3 || acts != 3 {
		t.Errorf("%d pauses and %d acts, want 3 of each", pauses, acts)
	}
}
