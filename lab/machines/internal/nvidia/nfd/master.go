package nfd

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// featureLabels is the annotation in which the master keeps the names of the labels that are its own, without the prefix of
// its own namespace (node-feature-discovery api/nfd/v1alpha1, FeatureLabelsAnnotation).
const featureLabels = "nfd.node.kubernetes.io/feature-labels"

// Master puts the features on the nodes, or with -prune takes everything of its own off them.
func (o *Discovery) Master(ctx context.Context, c *programs.Container) int {
	if slices.Contains(c.Argv, "-prune") {
		return o.prune(ctx, c)
	}
	c.Logf("Node Feature Discovery Master")
	client, err := o.own(c)
	if err != nil {
		c.Logf("%v", err)
		return 1
	}
	go health(ctx, c)
	wake := make(chan struct{}, 1)
	said, err := o.watchFeatures(ctx, wake)
	if err != nil {
		c.Logf("%v", err)
		return 1
	}
	published := map[string]map[string]string{}
	for {
		select {
		case <-ctx.Done():
			return 143
		case <-wake:
		}
		nodes, err := labelsSaid(said)
		if err != nil {
			c.Logf("%v", err)
			return 1
		}
		for node := range published {
			nodes[node] = nodes[node] // of whom nobody says anything any more, the labels go (nfdAPIUpdateOneNode)
		}
		for node, labels := range nodes {
			if maps.Equal(published[node], labels) {
				continue
			}
			if err := publish(ctx, client, node, labels); err != nil && ctx.Err() == nil {
				c.Logf("failed to update node %s: %v", node, err)
				if c.Machine.Clock().Sleep(ctx, 5*time.Second) == nil {
					nudge(wake)
				}
				continue
			}
			published[node] = labels
		}
	}
}

// publish labels a node and notes which labels those are, first: what is not noted would never be taken off. What was noted
// and is said no more goes (pkg/nfd-master/nfd-master.go, updateNodeObject).
func publish(ctx context.Context, client kubernetes.Interface, name string, labels map[string]string) error {
	node, err := client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	changes := ownLabels(node)
	var names []string
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		names = append(names, strings.TrimPrefix(label, nodelabels.FeaturePrefix))
		value := labels[label]
		if changes[label] = &value; node.Labels[label] == value {
			delete(changes, label)
		}
	}
	var noted *string
	if joined := strings.Join(names, ","); joined != "" {
		noted = &joined
	}
	if err := annotate(ctx, client, name, noted); err != nil {
		return err
	}
	return nodelabels.Patch(ctx, client, name, changes)
}

// ownLabels of a node, as the master has noted them, as changes that take them off.
func ownLabels(node *corev1.Node) map[string]*string {
	changes := map[string]*string{}
	for _, name := range strings.Split(node.Annotations[featureLabels], ",") {
		if !strings.Contains(name, "/") {
			name = nodelabels.FeaturePrefix + name
		}
		if _, set := node.Labels[name]; set {
			changes[name] = nil
		}
	}
	return changes
}

// prune is what the chart's hook does after the release is gone (node-feature-discovery
// deployment/helm/node-feature-discovery/templates/post-delete-job.yaml; pkg/nfd-master/nfd-master.go, prune).
func (o *Discovery) prune(ctx context.Context, c *programs.Container) int {
	client, err := o.own(c)
	if err != nil {
		c.Logf("%v", err)
		return 1
	}
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		c.Logf("failed to list nodes: %v", err)
		return 1
	}
	for _, node := range nodes.Items {
		if _, noted := node.Annotations[featureLabels]; !noted {
			continue
		}
		c.Logf("pruning node %s", node.Name)
		changes := ownLabels(&node)
		if err := errors.Join(nodelabels.Patch(ctx, client, node.Name, changes), annotate(ctx, client, node.Name, nil)); err != nil {
			c.Logf("failed to prune node %s: %v", node.Name, err)
			return 1
		}
	}
	return 0
}

func annotate(ctx context.Context, client kubernetes.Interface, node string, labels *string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]*string{featureLabels: labels}}})
	if err != nil {
		return err
	}
	_, err = client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}
