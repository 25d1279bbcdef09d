package manifests_test

import (
	"testing"

	"github.com/siderolabs/talos/pkg/machinery/config/configloader"

	"talos-gpu/lab/machines/internal/talos/manifests"
)

// TestOf checks that the manifests have the images of the configuration, and that a worker and a disabled addon have
// no manifest.
func TestOf(t *testing.T) {
	for _, row := range []struct {
		name, configuration string
		images              map[string]string
	}{
		{"a control plane", "machine: {type: controlplane}\ncluster: {proxy: {image: 'registry.k8s.io/kube-proxy:v1.36.0'}, coreDNS: {image: 'registry.k8s.io/coredns/coredns:v1.13.2'}}\n",
			map[string]string{"10-kube-proxy": "registry.k8s.io/kube-proxy:v1.36.0", "11-core-dns": "registry.k8s.io/coredns/coredns:v1.13.2"}},
		{"disabled addons", "machine: {type: controlplane}\ncluster: {proxy: {disabled: true}, coreDNS: {disabled: true}}\n", nil},
		{"a worker", "machine: {type: worker}\ncluster: {proxy: {image: 'registry.k8s.io/kube-proxy:v1.36.0'}}\n", nil},
	} {
		provider, err := configloader.NewFromBytes([]byte(row.configuration))
		if err != nil {
			t.Fatal(err)
		}
		list := manifests.Of(provider)
		if len(list) != len(row.images) {
			t.Errorf("%s: %d manifests", row.name, len(list))
		}
		for _, manifest := range list {
			spec := manifest.Objects[0].Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			image := spec["containers"].([]any)[0].(map[string]any)["image"]
			if image != row.images[manifest.Name] {
				t.Errorf("%s: %s has the image %v", row.name, manifest.Name, image)
			}
		}
	}
}
