// Command machines is the lab's emulated Talos machines: one Talos API endpoint for all of them, their boots and
// upgrades, and the kubelets that run on them.
//
// `machines --spec SPEC.json` prints one JSON line once everything is up, and stays until its standard input closes or it
// is told to end.
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

	"google.golang.org/grpc"

	"talos-gpu/lab/machines/internal/clock"
	"talos-gpu/lab/machines/internal/control"
	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/cluster"
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/realnode"
	"talos-gpu/lab/machines/internal/spec"
	"talos-gpu/lab/machines/internal/talos/api"
	"talos-gpu/lab/machines/internal/talos/apid"
	"talos-gpu/lab/machines/internal/talos/drain"
	"talos-gpu/lab/machines/internal/talos/factory"
	"talos-gpu/lab/machines/internal/talos/machine"
)

func main() {
	// A real node's processes are this binary too.
	if handled, code := realnode.Main(os.Args); handled {
		os.Exit(code)
	}

	path := flag.String("spec", "", "the lab's description of the machines (JSON)")
	flag.Parse()

	ctx, end := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer end()

	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) //nolint:errcheck // whatever ends it, the parent has gone
		end()
	}()

	if err := run(ctx, *path); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintf(os.Stderr, "machines: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, path string) error {
	description, err := spec.Load(path)
	if err != nil {
		return err
	}

	machines, err := build(ctx, description)
	if err != nil {
		return err
	}

	front, err := apid.New(description.Talos, machines)
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

	for _, m := range machines {
		if err := m.AwaitPower(ctx); err != nil {
			return err
		}
	}

	maintenance := map[string]string{}

	for _, m := range machines {
		if listens := m.MaintenanceAddress(); listens != "" {
			maintenance[m.Address()] = listens
		}
	}

	return serve(ctx, front, maintenance, control.Handler(machines), func() error { return kubelets(ctx, description, machines) })
}

func build(ctx context.Context, description *spec.Spec) ([]*machine.Machine, error) {
	environment := machine.Environment{
		Clock:   clock.New(description.TimeScale),
		Factory: factory.NewClient(description.Factory),
		Dir:     description.Dir,
		Cluster: description.Machines,
		Serve:   func(m *machine.Machine) *grpc.Server { return api.New(m) },
		// Machines that wait in maintenance mode have no etcd yet.
		ServeMaintenance: api.NewMaintenance,
		Etcd:             machine.NewEtcd(description.Talos != nil),
	}

	if description.Kubernetes != nil {
		nodes, err := drain.New(description.Kubernetes.AdminKubeconfig)
		if err != nil {
			return nil, fmt.Errorf("kubernetes.adminKubeconfig: %w", err)
		}

		authority, err := identity.Load(description.Kubernetes.Server, description.Kubernetes.CACert, description.Kubernetes.CAKey)
		if err != nil {
			return nil, err
		}

		environment.Nodes = nodes
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

	hosts := make([]host.Machine, 0, len(machines))
	for _, m := range machines {
		hosts = append(hosts, m)
	}

	real := map[string]spec.Node{}

	for _, item := range description.Machines {
		if item.Node != nil {
			real[item.Name] = *item.Node
		}
	}

	return cluster.Run(ctx, cluster.Config(*description.Kubernetes), hosts, real)
}

// serve opens both endpoints, says where they are, and ends with ctx or with the first of its parts that fails.
func serve(ctx context.Context, front *grpc.Server, maintenance map[string]string, handler http.Handler, kubelets func() error) error {
	apiListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	controlListener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}

	failed := make(chan error, 3)
	httpServer := &http.Server{Handler: handler}

	go func() { failed <- front.Serve(apiListener) }()
	go func() { failed <- httpServer.Serve(controlListener) }()

	done := make(chan struct{})

	go func() {
		defer close(done)

		if err := kubelets(); err != nil {
			failed <- err
		}
	}()

	ready, err := json.Marshal(map[string]any{
		"api": apiListener.Addr().String(), "maintenance": maintenance, "control": "http://" + controlListener.Addr().String(), "pid": os.Getpid(),
	})
	if err != nil {
		return err
	}

	fmt.Println(string(ready))

	select {
	case <-ctx.Done():
	case err = <-failed:
	}

	front.Stop()
	httpServer.Close() //nolint:errcheck

	if ctx.Err() != nil {
		<-done
	}

	return err
}
