package cri

import (
	"context"
	"maps"
	"sync"

	"talos-gpu/lab/machines/internal/node/kubelet/network"
)

// Config of a machine's containerd.
type Config struct {
	// Rules say what images do; the first that fits counts.
	Rules []Rule
	// RuntimePrograms come with NVIDIA's libraries: nvidia-smi.
	RuntimePrograms map[string]Program
	// CommonPrograms replace programs of any image that need the cluster's network: curl, wget.
	CommonPrograms map[string]Program
	// Network of the cluster's pods.
	Network *network.Network
}

// Runtime is the containerd of one machine.
type Runtime struct {
	config   Config
	programs *programServer
	mutex    sync.Mutex
	images   map[string]bool
}

// New prepares the containerd of a machine; ctx bounds its server.
func New(ctx context.Context, config Config) (*Runtime, error) {
	programs, err := newProgramServer(ctx)
	if err != nil {
		return nil, err
	}
	return &Runtime{config: config, programs: programs, images: map[string]bool{}}, nil
}

// Rule of an image; one that emulates nothing where there is none.
func (r *Runtime) Rule(image string) Rule { return ruleOf(r.config.Rules, image) }

// Create makes a container of what the kubelet says of it. Its files are in folder; announce is told the address of this
// computer that stands for each port which it opens.
func (r *Runtime) Create(c Container, folder string, announce func(address string)) *Container {
	c.rule = r.withRuntimePrograms(r.Rule(c.Spec.Image), c.Libraries)
	c.folder, c.announce = folder, announce
	c.network, c.programs, c.listeners = r.config.Network, r.programs, &listeners{ports: map[int]string{}}
	return &c
}

// withRuntimePrograms adds what the NVIDIA runtime and the network bring to an image's programs.
func (r *Runtime) withRuntimePrograms(rule Rule, libraries bool) Rule {
	programs := maps.Clone(rule.Programs)
	if programs == nil {
		programs = map[string]Program{}
	}
	if libraries {
		maps.Copy(programs, r.config.RuntimePrograms)
	}
	maps.Copy(programs, r.config.CommonPrograms)
	rule.Programs = programs
	return rule
}

// HasImage says that the machine has pulled the image.
func (r *Runtime) HasImage(image string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.images[image]
}

// AddImage says that the machine has the image from now on.
func (r *Runtime) AddImage(image string) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.images[image] = true
}
