// Command controlplane has all programs of a Kubernetes control plane in one binary. `controlplane <component> [flags]`
// runs that component, unchanged. index.ts in the parent folder starts the components. kubeadm makes their keys.
package main

import (
	"fmt"
	"io"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app/cmd"
)

// components are the entry points of the real programs. Each parses os.Args as if it was started under its real name.
var components = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
	"kubeadm":                 func() int { return cli.Run(kubeadm.NewKubeadmCommand(os.Stdin, os.Stdout, os.Stderr)) },
}

func main() {
	arguments := os.Args[1:]
	if len(arguments) > 0 && arguments[0] == "child" {
		go exitWithParent()
		arguments = arguments[1:]
	}
	if len(arguments) == 0 || components[arguments[0]] == nil {
		fmt.Fprintln(os.Stderr, "usage: controlplane [child] etcd | kube-apiserver | kube-controller-manager | kube-scheduler | kubeadm [flags]")
		os.Exit(2)
	}
	os.Args = arguments
	os.Exit(components[arguments[0]]())
}

// exitWithParent ends a child when its standard input closes. The kernel closes the pipe when the parent ends in any
// way. So a killed lab leaves no process, on Linux and on macOS. The child saves nothing, because a lab's cluster is
// discarded with the lab.
func exitWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
