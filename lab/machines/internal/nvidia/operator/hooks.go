package operator

import (
	"context"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"talos-gpu/lab/machines/internal/node/programs"
)

// What the chart's hooks run in the operator's image: before an upgrade its definitions are applied, before a deletion they
// are taken away where operator.cleanupCRD says so (gpu-operator, deployments/gpu-operator/templates/upgrade_crd.yaml,
// cleanup_crd.yaml; cmd/manage-crds from v26 on, kubectl before).

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// definitionsOf names what a file of the image holds.
func definitionsOf(file string) []string {
	name := strings.TrimSuffix(file[strings.LastIndex(file, "/")+1:], ".yaml")
	if name == "nfd-api-crds" {
		return []string{"nodefeatures.nfd.k8s-sigs.io", "nodefeaturegroups.nfd.k8s-sigs.io", "nodefeaturerules.nfd.k8s-sigs.io"}
	}
	group, plural, _ := strings.Cut(name, "_")
	return []string{plural + "." + group}
}

// manageDefinitions is manage-crds VERB --filepath=FILE....
func (o *Operator) manageDefinitions(ctx context.Context, c *programs.Container) int {
	if len(c.Argv) < 3 {
		c.Logf("manage-crds: a command and --filepath are needed")
		return 1
	}
	for _, argument := range c.Argv[2:] {
		for _, name := range definitionsOf(strings.TrimPrefix(argument, "--filepath=")) {
			if status := o.define(ctx, c, c.Argv[1], name, true); status != 0 {
				return status
			}
		}
	}
	return 0
}

// kubectl does the three things that the hooks of old ask for.
func (o *Operator) kubectl(ctx context.Context, c *programs.Container) int {
	arguments := slices.DeleteFunc(slices.Clone(c.Argv[1:]), func(each string) bool { return strings.HasPrefix(each, "--") })
	lenient := slices.Contains(c.Argv, "--ignore-not-found=true")
	switch {
	case len(arguments) == 3 && arguments[0] == "apply" && arguments[1] == "-f":
		for _, name := range definitionsOf(arguments[2]) {
			if status := o.define(ctx, c, "apply", name, true); status != 0 {
				return status
			}
		}
		return 0
	case len(arguments) == 3 && arguments[0] == "delete" && arguments[1] == "crd":
		return o.define(ctx, c, "delete", arguments[2], lenient)
	case len(arguments) == 3 && arguments[0] == "delete" && arguments[1] == "clusterpolicy":
		return report(c, o.dynamic.Resource(policies).Delete(ctx, arguments[2], metav1.DeleteOptions{}), "clusterpolicy "+arguments[2]+" deleted", lenient)
	}
	c.Logf("kubectl %s: not in the lab", strings.Join(arguments, " "))
	return 1
}

// define applies a definition or deletes it. The one that the release brought is there as it should be.
func (o *Operator) define(ctx context.Context, c *programs.Container, verb, name string, lenient bool) int {
	client := o.dynamic.Resource(definitions)
	if verb == "delete" {
		return report(c, client.Delete(ctx, name, metav1.DeleteOptions{}), name+" deleted", lenient)
	}
	_, err := client.Get(ctx, name, metav1.GetOptions{})
	return report(c, err, name+" unchanged", false)
}

func report(c *programs.Container, err error, done string, lenient bool) int {
	if err != nil && (!lenient || !apierrors.IsNotFound(err)) {
		c.Logf("%v", err)
		return 1
	}
	c.Logf("%s", done)
	return 0
}

// cleanUpClusters deletes the GPUCluster of a release, which the lab's stacks never have (cmd/cleanup-gpuclusters, v26.7.0).
func (o *Operator) cleanUpClusters(ctx context.Context, c *programs.Container) int {
	clusters := o.dynamic.Resource(schema.GroupVersionResource{Group: "nvidia.com", Version: "v1alpha1", Resource: "gpuclusters"})
	return report(c, clusters.Delete(ctx, c.Argv[len(c.Argv)-1], metav1.DeleteOptions{}), "no GPUCluster is left", true)
}
