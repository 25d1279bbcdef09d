package operator

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
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
	hasGPU := labels[nodelabels.FeaturePCI] == "true" || labels[nodelabels.FeaturePCI3D] == "true" || labels[nodelabels.FeaturePCIVGA] == "true"
	marked := labels[nodelabels.Present] == "true"
	switch {
	case hasGPU && !marked:
		changes[nodelabels.Present] = text("true")
	case !hasGPU && marked:
		changes[nodelabels.Present] = text("false")
	}
	if !hasGPU || labels[nodelabels.DeployAll] == "false" {
		for _, operand := range append([]string{"mig-manager"}, operands...) {
			if _, set := labels[nodelabels.DeployPrefix+operand]; set {
				changes[nodelabels.DeployPrefix+operand] = nil
			}
		}
		if !marked && !hasGPU {
			return nil // never one of its nodes
		}
		return changes
	}
	for _, operand := range operands {
		if labels[nodelabels.DeployPrefix+operand] == "" {
			changes[nodelabels.DeployPrefix+operand] = text("true")
		}
	}
	if hasMIG(labels) && labels[nodelabels.DeployMIG] == "" {
		changes[nodelabels.DeployMIG] = text("true")
	}
	return changes
}

func hasMIG(labels map[string]string) bool {
	if capable, set := labels[nodelabels.MIGCapable]; set {
		return capable == "true"
	}
	product := strings.ToLower(labels[nodelabels.Product])
	return strings.Contains(product, "h100") || strings.Contains(product, "a100") || strings.Contains(product, "a30")
}

// hasFeatures says that NFD labelled a node.
func hasFeatures(node *corev1.Node) bool {
	for key := range node.Labels {
		if strings.HasPrefix(key, nodelabels.FeaturePrefix) {
			return true
		}
	}
	return false
}
