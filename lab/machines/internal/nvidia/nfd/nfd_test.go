package nfd

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"talos-gpu/lab/machines/internal/host"
)

const (
	own     = "feature.node.kubernetes.io/pci-0300_10de.present"
	foreign = "nvidia.com/gpu.product"
)

func TestLabelsThatNobodySaysAnyMoreGo(t *testing.T) {
	ctx, name := context.Background(), "gpu-1"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"rack": "7"}}}
	client := fake.NewClientset(node)
	for _, step := range []struct {
		says, want map[string]string
		noted      string
	}{
		{map[string]string{own: "true", foreign: "H100"}, map[string]string{"rack": "7", own: "true", foreign: "H100"}, "pci-0300_10de.present," + foreign},
		{map[string]string{own: "true"}, map[string]string{"rack": "7", own: "true"}, "pci-0300_10de.present"},
		{map[string]string{own: "false"}, map[string]string{"rack": "7", own: "false"}, "pci-0300_10de.present"},
		{nil, map[string]string{"rack": "7"}, ""},
	} {
		if err := publishAll(ctx, client, map[string]map[string]string{name: step.says}); err != nil {
			t.Fatal(err)
		}
		now, _ := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if noted, set := now.Annotations[featureLabels]; !maps.Equal(now.Labels, step.want) || noted != step.noted || set != (step.noted != "") {
			t.Errorf("after %v: labels %v, noted %q", step.says, now.Labels, noted)
		}
	}
}

func TestDiscoverNode(t *testing.T) {
	const release = "feature.node.kubernetes.io/system-os_release.VERSION_ID"
	snapshot := host.Snapshot{TalosVersion: "v1.12.6", GPUs: []host.GPU{{PCIDevice: "0300_10de"}}}
	vendor := WorkerConfig{}
	vendor.Sources.PCI.DeviceLabelFields = []string{"vendor"}
	for label, config := range map[string]WorkerConfig{own: {}, "feature.node.kubernetes.io/pci-10de.present": vendor} {
		labels := DiscoverNode(snapshot, config)
		if _, split := labels[release+".major"]; split || labels[release] != "v1.12.6" || labels[label] != "true" {
			t.Errorf("%s: %v", label, labels)
		}
	}
}
