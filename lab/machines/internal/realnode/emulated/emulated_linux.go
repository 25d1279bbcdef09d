// Package emulated has the programs that no registry serves, above all the GPU Operator's: they are emulated on the real node as on emulated ones, but in real
// containers. This binary is in their image under the programs' names, with their real files, devices, ports and API.
package emulated

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/node/sets"
	"talos-gpu/lab/machines/internal/nvidia/operator"
	"talos-gpu/lab/machines/internal/realnode/facts"
)

// ImageVariable tells a container's program which image it is of.
const ImageVariable = "TALOS_GPU_LAB_IMAGE"

func rules(o *operator.Operator) []programs.Rule {
	return programs.Rules(o.Programs(), sets.Controller{}.Programs())
}

// Of is the rule of an image with whose programs this binary stands in; false where it stands in for none.
func Of(image string) (programs.Rule, bool) {
	return programs.RuleOf(rules(&operator.Operator{}), image)
}

// Programs are those of all the images.
func Programs() (all []string) {
	for _, rule := range rules(&operator.Operator{}) {
		all = append(all, rule.Has...)
	}
	return all
}

// Run runs a program of an image in its container.
func Run(image string, argv []string) int {
	name := filepath.Base(argv[0])
	found, err := facts.Ask()
	if err != nil {
		return fails(name, err)
	}
	config, err := found.Cluster()
	if err != nil {
		return fails(name, err)
	}
	known, err := operator.New(config)
	if err != nil {
		return fails(name, err)
	}
	rule, _ := programs.RuleOf(rules(known), image)
	program := rule.Programs[name]
	if program == nil {
		return fails(name, fmt.Errorf("the image %s has no such program", image))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	c := containerOf(found, image, argv)
	if pod, err := known.Pod(ctx, c.Pod.Namespace, c.Pod.Name); err == nil {
		c.Pod = pod
	}
	return program(ctx, c)
}

func fails(name string, err error) int {
	fmt.Fprintf(os.Stderr, "lab: %s: %v\n", name, err)
	return 126
}

// containerOf is the container that this process is in, as an emulated program knows it.
func containerOf(found facts.Facts, image string, argv []string) *programs.Container {
	env := map[string]string{}
	for _, variable := range os.Environ() {
		name, value, _ := strings.Cut(variable, "=")
		env[name] = value
	}
	namespace, _ := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	pod, _ := os.Hostname()
	c := &programs.Container{
		Pod:     &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: string(namespace)}},
		Spec:    &corev1.Container{Image: image},
		Machine: found.Machine(),
		Argv:    argv,
		Env:     env,
		Output:  os.Stdout,
		Read:    os.ReadFile,
		Listen:  func(port int) (net.Listener, error) { return net.Listen("tcp", fmt.Sprintf(":%d", port)) },
	}
	c.GPUs = found.Visible()
	// Below /usr/local, as Debian has them, or at /lib, which a driver's root at /usr/local makes of the first.
	for _, folder := range []string{"/usr/lib", "/usr/l*/*"} {
		libraries, _ := filepath.Glob(folder + "/libnvidia-ml.so*")
		c.Libraries = c.Libraries || len(libraries) > 0
	}
	var shm syscall.Statfs_t
	if syscall.Statfs("/dev/shm", &shm) == nil {
		c.SharedMemory = int64(shm.Blocks) * shm.Bsize
	}
	return c
}
