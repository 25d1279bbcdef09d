// Package virtual is the lab's pod on a virtual machine that runs real Talos. In the host network it provides the API's
// address, Services and their names, volumes, and the facts that emulated programs need.
package virtual

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"talos-gpu/lab/machines/internal/host"
	"talos-gpu/lab/machines/internal/node/kubelet/gpu"
	"talos-gpu/lab/machines/internal/node/storage"
	"talos-gpu/lab/machines/internal/realnode/boot"
	"talos-gpu/lab/machines/internal/realnode/cable"
	"talos-gpu/lab/machines/internal/realnode/facts"
	"talos-gpu/lab/machines/internal/realnode/files"
	"talos-gpu/lab/machines/internal/realnode/proxy"
)

// Command is the name of the program in its pod.
const Command = "lab-network"

// configuration is the configuration of the pods' network. Talos would use flannel's, but these pods need no connection
// to each other. It is not in the image, because Talos ≥ 1.14 mounts another file system over /etc/cni.
const configuration = `{"cniVersion":"1.0.0","name":"lab","plugins":[{"type":"bridge","bridge":"cni0","isGateway":true,
"ipam":{"type":"host-local","ranges":[[{"subnet":"10.244.0.0/24"}]],"routes":[{"dst":"0.0.0.0/0"}]}}]}`

// Serve runs with the arguments `LAB API`: the `host:port` of the lab, and that of the cluster's API.
func Serve(arguments []string) error {
	if err := files.Write("/etc/cni/net.d/10-lab.conflist", configuration); err != nil {
		return err
	}
	if err := cable.IP("addr replace " + boot.APIAddress + "/32 dev lo"); err != nil {
		return err
	}
	api, err := net.Listen("tcp", boot.APIAddress+":443")
	if err != nil {
		return err
	}
	go cable.Forward(api, cable.DialTo("tcp", arguments[1]))
	told, err := net.Listen("tcp", boot.FactsAddress)
	if err != nil {
		return err
	}
	go func() {
		_ = http.Serve(told, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			found, err := ask(arguments[0])
			if err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			_ = json.NewEncoder(w).Encode(found) //nolint:errcheck // the caller has gone
		}))
	}()
	// The cluster may not exist yet, because its control plane starts later.
	for failed := ""; ; time.Sleep(2 * time.Second) {
		if err := serve(context.Background()); err.Error() != failed {
			failed = err.Error()
			fmt.Println(failed)
		}
	}
}

// serve provides volumes and Services until one of them fails. It fails at the start if the cluster does not answer.
func serve(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	client, err := facts.Client()
	if err != nil {
		return err
	}
	if _, err := client.Discovery().ServerVersion(); err != nil {
		return err
	}
	failed := make(chan error, 2)
	go func() { failed <- storage.Provision(ctx, client) }()
	go func() { failed <- proxy.Serve(ctx, client) }()
	return <-failed
}

var driver = regexp.MustCompile(`Module(?: for \S+)?\s+(\d[\d.]*)`)

// ask gets the facts of this machine from the lab, and adds the driver that it finds.
func ask(lab string) (found facts.Facts, err error) {
	name, err := os.Hostname()
	if err != nil {
		return found, err
	}
	found, err = facts.From("http://" + lab + "/facts/" + name)
	if err != nil {
		return found, err
	}
	found.Cards = gpu.Unsplit(found.Key, found.Snapshot)
	s := &found.Snapshot
	s.Injection = host.InjectionOf(s.TalosVersion)
	if text, err := os.ReadFile("/proc/driver/nvidia/version"); err == nil {
		if version := driver.FindSubmatch(text); version != nil {
			s.DriverVersion, s.LibraryVersion = string(version[1]), string(version[1])
		}
	}
	modules, err := os.ReadFile("/proc/modules")
	for line := range strings.Lines(string(modules)) {
		s.Modules = append(s.Modules, strings.Fields(line)[0])
	}
	return found, err
}
