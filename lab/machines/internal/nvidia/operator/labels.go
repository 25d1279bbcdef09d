package operator

import (
	"context"
	"encoding/json"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	present       = "nvidia.com/gpu.present"
	deployPrefix  = "nvidia.com/gpu.deploy."
	deployAll     = deployPrefix + "operands"
	deployMIG     = deployPrefix + "mig-manager"
	migCapable    = "nvidia.com/mig.capable"
	migConfig     = "nvidia.com/mig.config"
	migState      = "nvidia.com/mig.config.state"
	mpsCapable    = "nvidia.com/mps.capable"
	productLabel  = "nvidia.com/gpu.product"
	featurePCI    = featurePrefix + "pci-10de.present"
	featurePCI3D  = featurePrefix + "pci-0302_10de.present"
	featurePCIVGA = featurePrefix + "pci-0300_10de.present"
)

// operands that a container workload's node gets (state_manager.go, gpuStateLabels).
var operands = []string{
	"driver", "gpu-feature-discovery", "container-toolkit", "device-plugin", "dcgm", "dcgm-exporter", "node-status-exporter", "operator-validator",
}

// wantedLabels are the changes that the operator makes to a node's labels; nil removes one (state_manager.go:
// labelGPUNodes, addGPUStateLabels, removeAllGPUStateLabels). A label is only set when absent or empty, so a user's
// "false" stays. gpu.present without a feature label of NVIDIA's vendor counts as a GPU that is gone.
func wantedLabels(labels map[string]string) map[string]*string {
	text := func(value string) *string { return &value }
	changes := map[string]*string{}
	hasGPU := labels[featurePCI] == "true" || labels[featurePCI3D] == "true" || labels[featurePCIVGA] == "true"
	marked := labels[present] == "true"
	switch {
	case hasGPU && !marked:
		changes[present] = text("true")
	case !hasGPU && marked:
		changes[present] = text("false")
	}
	if !hasGPU || labels[deployAll] == "false" {
		for _, operand := range append([]string{"mig-manager"}, operands...) {
			if _, set := labels[deployPrefix+operand]; set {
				changes[deployPrefix+operand] = nil
			}
		}
		if !marked && !hasGPU {
			return nil // never one of its nodes
		}
		return changes
	}
	for _, operand := range operands {
		if labels[deployPrefix+operand] == "" {
			changes[deployPrefix+operand] = text("true")
		}
	}
	if hasMIG(labels) && labels[deployMIG] == "" {
		changes[deployMIG] = text("true")
	}
	return changes
}

func hasMIG(labels map[string]string) bool {
	if capable, set := labels[migCapable]; set {
		return capable == "true"
	}
	product := strings.ToLower(labels[productLabel])
	return strings.Contains(product, "h100") || strings.Contains(product, "a100") || strings.Contains(product, "a30")
}

// hasFeatures says that NFD labelled a node.
func hasFeatures(node *corev1.Node) bool {
	for key := range node.Labels {
		if strings.HasPrefix(key, featurePrefix) {
			return true
		}
	}
	return false
}

// label sets labels of a node, if any differs.
func (o *Operator) label(ctx context.Context, name string, labels map[string]string) error {
	node, err := o.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	changes := map[string]*string{}
	for key, value := range labels {
		if current, set := node.Labels[key]; !set || current != value {
			changes[key] = &value
		}
	}
	return o.patchLabels(ctx, name, changes)
}

func (o *Operator) patchLabels(ctx context.Context, node string, changes map[string]*string) error {
	if len(changes) == 0 {
		return nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": maps.Clone(changes)}})
	if err != nil {
		return err
	}
	_, err = o.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}
