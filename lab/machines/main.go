// Command machines is the lab's emulated Talos machines.
package main

import (
	_ "github.com/cosi-project/runtime/pkg/state"
	_ "google.golang.org/grpc"
	_ "k8s.io/api/core/v1"
	_ "k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/client-go/kubernetes"

	_ "talos-gpu/lab/machines/internal/cluster"
)

func main() {}
