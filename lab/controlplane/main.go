// Command controlplane is a Kubernetes control plane in one binary.
//
// `controlplane up --dir DIR` starts etcd, kube-apiserver, kube-controller-manager and kube-scheduler as children of
// itself, prints one JSON line once the cluster can be used, and stays until its standard input closes.
// `controlplane <component> [flags]` is that component, unchanged.
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
)

// components are the entry points of the real programs. Each parses os.Args as if started under its own name.
var components = map[string]func() int{
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
	"kube-apiserver":          func() int { return cli.Run(apiserver.NewAPIServerCommand()) },
	"kube-controller-manager": func() int { return cli.Run(controllermanager.NewControllerManagerCommand()) },
	"kube-scheduler":          func() int { return cli.Run(scheduler.NewSchedulerCommand()) },
}

const usage = `usage: controlplane up --dir DIR
       controlplane etcd | kube-apiserver | kube-controller-manager | kube-scheduler [flags]`

func main() {
	arguments := os.Args[1:]
	if len(arguments) > 0 && arguments[0] == "up" {
		os.Exit(runUp(arguments[1:]))
	}
	if len(arguments) > 0 && arguments[0] == childCommand {
		go exitWithParent()
		arguments = arguments[1:]
	}
	if len(arguments) > 0 && components[arguments[0]] != nil {
		os.Args = arguments
		os.Exit(components[arguments[0]]())
	}
	fmt.Fprintln(os.Stderr, usage)
	os.Exit(2)
}

// exitWithParent ends the process once its standard input closes. The kernel closes the pipe when the parent goes, in
// whichever way it goes, so a killed `up` leaves nothing running, on Linux and macOS alike (prctl's PDEATHSIG is Linux'
// alone). Nothing is saved on the way out: the folder of a lab's cluster is thrown away with it.
func exitWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
