// Package nodelabels has the labels by which NVIDIA's programs and Node Feature Discovery speak of a node, and sets them.
package nodelabels

import (
	"context"
	"encoding/json"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// Labels of a node.
const (
	FeaturePrefix = "feature.node.kubernetes.io/"
	Present       = "nvidia.com/gpu.present"
	DeployPrefix  = "nvidia.com/gpu.deploy."
	DeployAll     = DeployPrefix + "operands"
	DeployMIG     = DeployPrefix + "mig-manager"
	MIGCapable    = "nvidia.com/mig.capable"
	MIGConfig     = "nvidia.com/mig.config"
	MIGState      = "nvidia.com/mig.config.state"
	Product       = "nvidia.com/gpu.product"
	FeaturePCI    = FeaturePrefix + "pci-10de.present"
	FeaturePCI3D  = FeaturePrefix + "pci-0302_10de.present"
	FeaturePCIVGA = FeaturePrefix + "pci-0300_10de.present"
)

// Set sets labels of a node, if any differs.
func Set(ctx context.Context, client kubernetes.Interface, name string, labels map[string]string) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	changes := map[string]*string{}
	for key, value := range labels {
		if current, set := node.Labels[key]; !set || current != value {
			changes[key] = &value
		}
	}
	return Patch(ctx, client, name, changes)
}

// Patch changes labels of a node; nil removes one.
func Patch(ctx context.Context, client kubernetes.Interface, node string, changes map[string]*string) error {
	if len(changes) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": maps.Clone(changes)}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}
