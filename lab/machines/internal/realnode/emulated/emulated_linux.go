// Package emulated runs the programs whose images are in no registry, above all the GPU Operator's. They are emulated
// as on emulated nodes, but in real containers with real files, devices, ports and API. This binary is in their image
// under the programs' names.
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

// ImageVariable is the environment variable that has the image of a container's program.
const ImageVariable = "TALOS_GPU_LAB_IMAGE"

func rules(o *operator.Operator) []programs.Rule {
	return programs.Rules(o.Programs(), sets.Controller{}.Programs())
}

// Of returns the rule of an image whose programs this binary replaces, or false if it replaces none of the image.
func Of(image string) (programs.Rule, bool) {
	return programs.RuleOf(rules(&operator.Operator{}), image)
}

// Programs returns the names of the programs of all images.
func Programs() (all []string) {
	for _, rule := range rules(&operator.Operator{}) {
		all = append(all, rule.Has...)
	}
	return all
}

// Run runs a program of an image in the program's container.
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

// containerOf describes the container of this process for an emulated program.
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
	// The libraries are in /usr/local/lib, or in Debian's folder below /usr/lib. With a driver root at /usr/local they
	// are in /lib, which is a link to /usr/lib.
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
