// Command machines emulates the lab's Talos machines. It serves one Talos API endpoint for all of them, emulates their
// boots and upgrades, and runs their kubelets.
//
// `machines --spec SPEC.json` prints one JSON line when everything is up. It runs until its standard input closes or a
// signal ends it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/cluster"
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/realnode"
	"talos-gpu/lab/machines/internal/spec"
	"talos-gpu/lab/machines/internal/talos/api"
	"talos-gpu/lab/machines/internal/talos/factory"
	"talos-gpu/lab/machines/internal/talos/machine"
)

func main() {
	// The processes of a real node also run this binary.
	if handled, code := realnode.Main(os.Args); handled {
		os.Exit(code)
	}
	path := flag.String("spec", "", "the lab's description of the machines (JSON)")
	flag.Parse()
	ctx, end := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer end()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) //nolint:errcheck // an error also means that the parent has gone
		end()
	}()
	if err := run(ctx, *path); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "machines: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string) error {
	description, err := spec.Load[spec.Spec](path)
	if err != nil {
		return err
	}
	machines, err := build(ctx, description)
	if err != nil {
		return err
	}
	front, err := api.New(description.Talos, machines)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer stop()
	for _, m := range machines {
		work.Go(func() { m.Run(ctx) })
	}
	maintenance := map[string]string{}
	for _, m := range machines {
		if err := m.AwaitPower(ctx); err != nil {
			return err
		}
		if listens := m.MaintenanceAddress(); listens != "" {
			maintenance[m.Address()] = listens
		}
	}
	apiListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	controlListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	failed := make(chan error, 3)
	work.Go(func() { failed <- front.Serve(apiListener) })
	defer front.Stop()
	server := &http.Server{Handler: control(machines)}
	work.Go(func() { failed <- server.Serve(controlListener) })
	defer server.Close() //nolint:errcheck
	work.Go(func() {
		if err := kubelets(ctx, description, machines); err != nil {
			failed <- err
		}
	})
	ready, err := json.Marshal(map[string]any{
		"api": apiListener.Addr().String(), "maintenance": maintenance, "control": "http://" + controlListener.Addr().String(), "pid": os.Getpid(),
	})
	if err != nil {
		return err
	}
	fmt.Println(string(ready))
	select {
	case <-ctx.Done():
		return nil
	case err := <-failed:
		return err
	}
}

func build(ctx context.Context, description *spec.Spec) ([]*machine.Machine, error) {
	environment := machine.Environment{
		Clock:            clock.New(description.TimeScale),
		Factory:          factory.NewClient(description.Factory),
		Dir:              description.Dir,
		Cluster:          description.Machines,
		ServeMaintenance: api.NewMaintenance,
		// Machines that wait in maintenance mode have no etcd yet.
		Etcd: machine.NewEtcd(description.Talos != nil),
	}
	if kubernetes := description.Kubernetes; kubernetes != nil {
		authority, err := identity.Load(kubernetes.Server, kubernetes.CACert, kubernetes.CAKey)
		if err != nil {
			return nil, err
		}
		environment.AdminKubeconfig = func() ([]byte, error) { return authority.AdminKubeconfig(description.ClusterName) }
	}
	var (
		machines []*machine.Machine
		problems []error
	)
	for _, item := range description.Machines {
		m, err := machine.New(ctx, item, environment)
		machines, problems = append(machines, m), append(problems, err)
	}
	return machines, errors.Join(problems...)
}

func kubelets(ctx context.Context, description *spec.Spec, machines []*machine.Machine) error {
	if description.Kubernetes == nil {
		<-ctx.Done()
		return nil
	}
	hosts, real := make([]host.Machine, len(machines)), map[string]spec.Node{}
	for i, m := range machines {
		if hosts[i] = m; description.Machines[i].Node != nil {
			real[m.Key()] = *description.Machines[i].Node
		}
	}
	// A real node has the lab's own proxy instead of kube-proxy and CoreDNS, and no image for them.
	bootstraps := description.Talos == nil && len(real) == 0
	return cluster.Run(ctx, *description.Kubernetes, hosts, real, bootstraps)
}

// control serves the lab's view of the machines on the loopback interface: GET /state and POST /machines/NAME/fault.
func control(machines []*machine.Machine) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		reports := map[string]machine.Report{}
		for _, m := range machines {
			reports[m.Key()] = m.Report()
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"machines": reports}) //nolint:errcheck // the caller has gone
	})
	mux.HandleFunc("POST /machines/{name}/fault", func(w http.ResponseWriter, r *http.Request) {
		fault := struct {
			Kind  string `json:"kind"`
			Times int    `json:"times"`
		}{Times: 1}
		err := json.NewDecoder(r.Body).Decode(&fault)
		for _, m := range machines {
			if err == nil && m.Key() == r.PathValue("name") {
				err = m.Fault(fault.Kind, fault.Times)
			}
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	})
	return mux
}
