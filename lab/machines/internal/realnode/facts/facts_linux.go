// Package facts gives programs on the node what the lab knows about their machine.
package facts

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/files"
)

// Facts are the present facts of a machine.
type Facts struct {
	Key, Name, Address, Role string
	Snapshot                 host.Snapshot
	TimeScale                float64
	Cards                    []gpu.Card // the cards of the machine
	Kubeconfig               []byte     // of the cluster's administrator
}

// Visible returns the cards whose devices the calling container has.
func (f Facts) Visible() []gpu.Card {
	return slices.DeleteFunc(slices.Clone(f.Cards), func(card gpu.Card) bool { return !files.Exists(fmt.Sprintf("/dev/nvidia%d", card.Index)) })
}

// Serve serves the facts on a socket, which the node reaches at boot.FactsAddress.
func Serve(spec *boot.Spec, authority *identity.Authority, machine host.Machine) (func(), error) {
	kubeconfig, err := authority.AdminKubeconfig("lab")
	if err != nil {
		return nil, err
	}
	socket := spec.FactsSocket()
	_ = os.Remove(socket) // the socket of an earlier boot
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		snapshot := machine.Snapshot()
		snapshot.Config = nil
		_ = json.NewEncoder(w).Encode(Facts{
			Key:        machine.Key(),
			Name:       machine.Name(),
			Address:    machine.Address(),
			Role:       machine.Role(),
			Snapshot:   snapshot,
			Cards:      gpu.Cards(machine),
			TimeScale:  1 / machine.Clock().Real(time.Second).Seconds(),
			Kubeconfig: kubeconfig,
		})
	})}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}

// Ask gets the facts, on the node or in one of its containers.
func Ask() (Facts, error) { return From("http://" + boot.FactsAddress) }

// From gets the facts from another address.
func From(url string) (found Facts, err error) {
	answer, err := (&http.Client{Timeout: 10 * time.Second}).Get(url)
	if err != nil {
		return found, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return found, fmt.Errorf("%s: %s", url, answer.Status)
	}
	return found, json.NewDecoder(answer.Body).Decode(&found)
}

// Cluster returns the configuration with which the node reaches the API, with the administrator's rights.
func (f Facts) Cluster() (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(f.Kubeconfig)
	if err != nil {
		return nil, err
	}
	config.Host = "https://" + boot.APIAddress
	config.QPS, config.Burst = 100, 200
	config.WarningHandler = rest.NoWarnings{}
	return config, nil
}

// Client returns a client of the cluster, from the present facts.
func Client() (kubernetes.Interface, error) {
	found, err := Ask()
	if err != nil {
		return nil, err
	}
	return identity.Client(found.Cluster())
}

// toldMachine is a machine as a container on its node knows it.
type toldMachine struct {
	facts Facts
	clock *clock.Clock
}

// Machine returns the machine of the facts.
func (f Facts) Machine() host.Machine { return toldMachine{facts: f, clock: clock.New(f.TimeScale)} }

func (m toldMachine) Key() string             { return m.facts.Key }
func (m toldMachine) Name() string            { return m.facts.Name }
func (m toldMachine) Address() string         { return m.facts.Address }
func (m toldMachine) Role() string            { return m.facts.Role }
func (m toldMachine) Snapshot() host.Snapshot { return m.facts.Snapshot }
func (m toldMachine) Clock() *clock.Clock     { return m.clock }
func (m toldMachine) Event(string, ...any)    {}

// RootFS is where pods mount the machine's file system, if they mount it.
func (m toldMachine) RootFS() string { return "/host" }

// Watch signals only once. If the machine's state changes, the machine boots and its pods start again.
func (m toldMachine) Watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	changed <- struct{}{}
	context.AfterFunc(ctx, func() { close(changed) })
	return changed
}
