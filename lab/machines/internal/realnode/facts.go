//go:build linux

package realnode

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
)

// factsAddress is where emulated programs on the node ask for what they know of their machine.
const factsAddress = apiAddress + ":8181"

// facts of a machine, as the lab has them now.
type facts struct {
	Key, Name, Address, Role string
	Snapshot                 host.Snapshot
	TimeScale                float64
	// Cards of the machine.
	Cards []gpu.Card
	// Kubeconfig of the cluster's administrator.
	Kubeconfig []byte
}

// serveFacts answers beside the node, on a socket that the node's own network leads to.
func serveFacts(spec *Spec, authority *identity.Authority, machine host.Machine) (func(), error) {
	kubeconfig, err := authority.AdminKubeconfig("lab")
	if err != nil {
		return nil, err
	}
	socket := spec.factsSocket()
	_ = os.Remove(socket) // an earlier boot's
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		snapshot := machine.Snapshot()
		snapshot.Config = nil
		_ = json.NewEncoder(w).Encode(facts{
			Key: machine.Key(), Name: machine.Name(), Address: machine.Address(), Role: machine.Role(), Snapshot: snapshot, Cards: gpu.Cards(machine),
			TimeScale: 1 / machine.Clock().Real(time.Second).Seconds(), Kubeconfig: kubeconfig,
		})
	})}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}

func (s *Spec) factsSocket() string { return filepath.Join(s.Folder, "facts.sock") }

// askFacts asks for them, on the node or in one of its containers.
func askFacts() (facts, error) {
	found := facts{}
	answer, err := (&http.Client{Timeout: 10 * time.Second}).Get("http://" + factsAddress)
	if err != nil {
		return found, err
	}
	defer answer.Body.Close()
	return found, json.NewDecoder(answer.Body).Decode(&found)
}

// cluster is the API with the administrator's rights, as the node reaches it.
func (f facts) cluster() (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(f.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Host = "https://" + apiAddress
	config.QPS, config.Burst = 100, 200
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// toldMachine is a machine as a container on its node knows it.
type toldMachine struct {
	facts
	clock *clock.Clock
}

func (m toldMachine) Key() string             { return m.facts.Key }
func (m toldMachine) Name() string            { return m.facts.Name }
func (m toldMachine) Address() string         { return m.facts.Address }
func (m toldMachine) Role() string            { return m.facts.Role }
func (m toldMachine) Snapshot() host.Snapshot { return m.facts.Snapshot }
func (m toldMachine) Clock() host.Clock       { return m.clock }
func (m toldMachine) Event(string, ...any)    {}

// RootFS is where pods have the machine's file system, if they have it.
func (m toldMachine) RootFS() string { return "/host" }

// Watch signals once: a machine whose state changes boots anew, and its pods with it.
func (m toldMachine) Watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	changed <- struct{}{}
	context.AfterFunc(ctx, func() { close(changed) })
	return changed
}
