// Package cluster runs the kubelets of the machines and what else of the cluster the lab emulates.
package cluster

import (
	"context"

	"talos-gpu/lab/machines/internal/host"
)

// Config is the Kubernetes part of the lab's specification.
type Config struct {
	Server          string `json:"server"`
	AdminKubeconfig string `json:"adminKubeconfig"`
	CACert          string `json:"caCert"`
	CAKey           string `json:"caKey"`
}

// Run runs until ctx ends.
func Run(ctx context.Context, cfg Config, machines []host.Machine) error {
	<-ctx.Done()
	return nil
}
