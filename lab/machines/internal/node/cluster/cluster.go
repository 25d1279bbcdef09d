// Package cluster runs the kubelets of the machines and the other parts of the cluster that the lab emulates. These are
// the programs of the GPU Operator and of Node Feature Discovery, and a default storage class with its provisioner.
package cluster

import (
	"context"
	"errors"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/addons"
	"talos-gpu/lab/machines/internal/node/apply"
	"talos-gpu/lab/machines/internal/node/identity"
	"talos-gpu/lab/machines/internal/node/kubelet"
	"talos-gpu/lab/machines/internal/node/programs"
	"talos-gpu/lab/machines/internal/node/reach"
	"talos-gpu/lab/machines/internal/node/sets"
	"talos-gpu/lab/machines/internal/node/storage"
	"talos-gpu/lab/machines/internal/nvidia/operator"
	"talos-gpu/lab/machines/internal/realnode"
	"talos-gpu/lab/machines/internal/spec"
)

// Run runs the cluster's parts until ctx ends or a part fails. real has the machines whose node is a real one, by name.
// bootstraps says that emulated machines make a new cluster, so that Talos also creates its addons. Other clusters have
// none in the lab.
func Run(ctx context.Context, cfg spec.Kubernetes, machines []host.Machine, real map[string]spec.Node, bootstraps bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	authority, err := identity.Load(cfg.Server, cfg.CACert, cfg.CAKey)
	if err != nil {
		return err
	}
	admin, err := authority.Admin()
	if err != nil {
		return err
	}
	admin.WarningHandler = rest.NoWarnings{} // Pod Security warns about pods that must be privileged
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		return err
	}
	gpuOperator, err := operator.New(admin)
	if err != nil {
		return err
	}
	kubelets := &reach.Table{}
	controller := sets.Controller{Binary: cfg.LeaderWorkerSet, Server: cfg.Server, CA: admin.CAData, Reach: kubelets}
	shared := kubelet.Config{Authority: authority, Rules: programs.Rules(gpuOperator.Programs(), controller.Programs())}
	addonsClient, err := dynamic.NewForConfig(admin)
	if err != nil {
		return err
	}
	parts := []func() error{
		func() error { return storage.Provision(ctx, client) },
		func() error { return kubelets.Serve(ctx, cfg.Nodes) },
	}
	for _, machine := range machines {
		parts = append(parts, func() error { return apply.Keep(ctx, authority, machine) })
		if bootstraps {
			parts = append(parts, func() error { return addons.Keep(ctx, addonsClient, machine) })
		}
		node, isReal := real[machine.Key()]
		if !isReal {
			kubelets.Put(machine.Address(), "127.0.0.1")
			parts = append(parts, func() error { return kubelet.Run(ctx, shared, machine) })
			continue
		}
		parts = append(parts, func() error {
			return realnode.Follow(ctx, realnode.Config{
				Authority:  authority,
				Kubernetes: cfg,
				Node:       node,
				Kubelets:   kubelets,
			}, machine)
		})
	}
	ended := make(chan error, len(parts))
	for _, part := range parts {
		go func() { ended <- part() }()
	}
	var failures error
	for range parts {
		if err := <-ended; err != nil {
			failures = errors.Join(failures, err)
			cancel()
		}
	}
	return failures
}
