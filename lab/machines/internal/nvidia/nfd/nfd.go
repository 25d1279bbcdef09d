// Package nfd emulates Node Feature Discovery's worker and master (kubernetes-sigs/node-feature-discovery v0.17 to v0.19).
package nfd

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/cri"
	"talos-gpu/lab/machines/internal/nvidia/nodelabels"
)

// Discovery is what its programs share.
type Discovery struct {
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

// New prepares the programs with a client that may do everything.
func New(client kubernetes.Interface, dynamic dynamic.Interface) *Discovery {
	return &Discovery{client: client, dynamic: dynamic}
}

// WorkerConfig is the PCI part of nfd-worker.conf. Defaults: node-feature-discovery docs, "Worker configuration file".
type WorkerConfig struct {
	Sources struct {
		PCI struct {
			DeviceClassWhitelist []string `json:"deviceClassWhitelist"`
			DeviceLabelFields    []string `json:"deviceLabelFields"`
		} `json:"pci"`
	} `json:"sources"`
}

const workerConfigFile = "/etc/kubernetes/node-feature-discovery/nfd-worker.conf"

func readWorkerConfig(c *cri.Container) WorkerConfig {
	config := WorkerConfig{}
	name := workerConfigFile
	for i, argument := range c.Argv {
		if value, found := strings.CutPrefix(argument, "-config="); found {
			name = value
		} else if argument == "-config" && i+1 < len(c.Argv) {
			name = c.Argv[i+1]
		}
	}
	if text, err := os.ReadFile(c.Paths.Resolve(name)); err == nil {
		_ = yaml.Unmarshal(text, &config)
	}
	if len(config.Sources.PCI.DeviceClassWhitelist) == 0 {
		config.Sources.PCI.DeviceClassWhitelist = []string{"03", "0b40", "12"}
	}
	if len(config.Sources.PCI.DeviceLabelFields) == 0 {
		config.Sources.PCI.DeviceLabelFields = []string{"class", "vendor"}
	}
	return config
}

// DiscoverNode is what a worker finds on a machine. A release that begins with v, as Talos' do, is not split into major and minor
// (source/system/system.go, splitVersion).
func DiscoverNode(s host.Snapshot, config WorkerConfig) map[string]string {
	labels := map[string]string{
		nodelabels.FeaturePrefix + "system-os_release.ID":         "talos",
		nodelabels.FeaturePrefix + "system-os_release.VERSION_ID": s.TalosVersion,
		nodelabels.FeaturePrefix + "cpu-model.vendor_id":          "Intel",
		nodelabels.FeaturePrefix + "cpu-cpuid.AVX2":               "true",
		nodelabels.FeaturePrefix + "kernel-config.NO_HZ":          "true",
	}
	for _, card := range s.GPUs {
		class, vendor, found := strings.Cut(card.PCIDevice, "_")
		if !found || !listed(config.Sources.PCI.DeviceClassWhitelist, class) {
			continue
		}
		var fields []string
		for _, field := range config.Sources.PCI.DeviceLabelFields {
			switch field {
			case "class":
				fields = append(fields, class)
			case "vendor":
				fields = append(fields, vendor)
			}
		}
		labels[nodelabels.FeaturePrefix+"pci-"+strings.Join(fields, "_")+".present"] = "true"
	}
	return labels
}

// listed: the whitelist holds classes or their beginnings.
func listed(whitelist []string, class string) bool {
	for _, prefix := range whitelist {
		if strings.HasPrefix(class, strings.ToLower(prefix)) {
			return true
		}
	}
	return false
}

// Worker reports a machine's features, now and when the machine changes.
func (o *Discovery) Worker(ctx context.Context, c *cri.Container) int {
	config := readWorkerConfig(c)
	if c.Machine.Clock().Sleep(ctx, 2*time.Second) != nil {
		return 143
	}
	c.Logf("feature discovery sources configured; starting on node %s", c.Machine.Name())
	go health(ctx, c)
	for range c.Machine.Watch(ctx) {
		if err := o.Tell(ctx, c, c.Machine.Name(), DiscoverNode(c.Machine.Snapshot(), config)); err != nil && ctx.Err() == nil {
			c.Logf("failed to advertise features: %v", err)
			return 1
		}
	}
	return 143
}

// Collector is the garbage collector. What it removes, NodeFeature objects of nodes that are gone, the lab does not make.
func Collector(ctx context.Context, c *cri.Container) int {
	go health(ctx, c)
	<-ctx.Done()
	return 143
}

// health serves /healthz where -port says, 8080 without it (node-feature-discovery v0.18 cmd/nfd-master/main.go). Until v0.17
// the probes are gRPC's, which the kubelet here takes for passed.
func health(ctx context.Context, c *cri.Container) {
	port := 8080
	for _, argument := range c.Argv {
		if value, found := strings.CutPrefix(argument, "-port="); found {
			port, _ = strconv.Atoi(value)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	if err := c.Serve(ctx, port, mux); err != nil {
		c.Logf("http server error: %v", err)
	}
}

// featureLabels is the annotation in which the master keeps the names of the labels that are its own, without the prefix of
// its own namespace (node-feature-discovery api/nfd/v1alpha1, FeatureLabelsAnnotation).
const featureLabels = "nfd.node.kubernetes.io/feature-labels"

// Master puts the features on the nodes, or with -prune takes everything of its own off them.
func (o *Discovery) Master(ctx context.Context, c *cri.Container) int {
	if slices.Contains(c.Argv, "-prune") {
		return o.prune(ctx, c)
	}
	c.Logf("Node Feature Discovery Master")
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
			if err := o.publish(ctx, node, labels); err != nil && ctx.Err() == nil {
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
func (o *Discovery) publish(ctx context.Context, name string, labels map[string]string) error {
	node, err := o.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
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
	if err := o.annotate(ctx, name, noted); err != nil {
		return err
	}
	return nodelabels.Patch(ctx, o.client, name, changes)
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
func (o *Discovery) prune(ctx context.Context, c *cri.Container) int {
	nodes, err := o.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
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
		if err := errors.Join(nodelabels.Patch(ctx, o.client, node.Name, changes), o.annotate(ctx, node.Name, nil)); err != nil {
			c.Logf("failed to prune node %s: %v", node.Name, err)
			return 1
		}
	}
	return 0
}

func (o *Discovery) annotate(ctx context.Context, node string, labels *string) error {
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]*string{featureLabels: labels}}})
	if err != nil {
		return err
	}
	_, err = o.client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, body, metav1.PatchOptions{})
	return err
}
