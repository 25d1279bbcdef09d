// Command controlplane is what a Kubernetes control plane is made of, in one binary: `controlplane <component> [flags]` is that
// component, unchanged. index.ts above starts them. kubeadm makes their keys.
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

// components are the entry points of the real programs. Each parses os.Args as if started under its own name.
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

// exitWithParent ends a child once its standard input closes. The kernel closes the pipe when the parent ends in any way. So a killed
// lab leaves nothing running, on Linux and macOS alike. A lab's cluster is thrown away with it: nothing is saved.
func exitWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
