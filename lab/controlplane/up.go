package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// startLimit bounds the whole start: 4 s on two idle cores, so a minute and a half is a machine in trouble.
const startLimit = 90 * time.Second

// portAttempts is how often a component is started anew when another process took its port first.
const portAttempts = 5

// report is the one line on standard output, once the cluster can be used.
type report struct {
	Server          string   `json:"server"`
	CA              reportCA `json:"ca"`
	AdminKubeconfig string   `json:"adminKubeconfig"`
	// Nodes is the socket at which the API server asks for a way to the nodes.
	Nodes string `json:"nodes"`
	PID   int    `json:"pid"`
}

type reportCA struct {
	Cert string `json:"cert"`
	// Key lets the lab's machines sign their own kubelets' client certificates.
	Key string `json:"key"`
}

// runUp is the subcommand: it owns DIR and the children, and leaves neither behind.
func runUp(arguments []string) int {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	folder := flags.String("dir", "", "folder for keys, data and logs; made here, removed at the end")
	renewable := flags.Bool("renewable", false, "takes further words on standard input than restart: renew gives the cluster back as it was first, rest and wake halt it")
	if err := flags.Parse(arguments); err != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	asked := make(chan string, 1)
	go func() {
		untilParentGone(asked)
		cancel()
	}()
	if err := up(ctx, *folder, *renewable, asked); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// up starts the control plane and keeps it until ctx ends. That end is no error; a child's death is. It restarts its controllers
// whenever it is asked; a renewable one gives the cluster back as it was first.
func up(ctx context.Context, folder string, renewable bool, asked <-chan string) (err error) {
	folder, err = ownFolder(folder)
	if err != nil {
		return err
	}
	// The folder goes last, when no child writes into it any more.
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	children := &family{died: make(chan *child, len(components))}
	defer children.stop()

	starting, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	c, ready, controllers, err := start(starting, folder, children)
	var unused *renewal
	if err == nil && renewable {
		unused, err = newRenewal(starting, c, controllers)
	}
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	tell := json.NewEncoder(os.Stdout)
	if err := tell.Encode(ready); err != nil {
		return fmt.Errorf("reporting readiness: %w", err)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case dead := <-children.died:
			return dead.death()
		case word := <-asked:
			done, err := obey(ctx, word, controllers, unused, children)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			if err := tell.Encode(done); err != nil {
				return fmt.Errorf("reporting that it did %q: %w", word, err)
			}
		}
	}
}

// obey does what a word on standard input asks for. What was found to do goes back as a line.
func obey(ctx context.Context, word string, controllers *controllers, unused *renewal, children *family) (renewed, error) {
	if word == "restart" {
		return renewed{}, controllers.handOver(ctx)
	}
	if unused == nil {
		return renewed{}, fmt.Errorf("%q on standard input needs --renewable at the start", word)
	}
	switch word {
	case "renew":
		return unused.renew(ctx)
	case "rest", "wake":
		return renewed{}, children.rest(word == "rest")
	}
	return renewed{}, fmt.Errorf("%q on standard input is none of restart, renew, rest and wake", word)
}

// ownFolder makes the folder, and refuses one with anything in it: it will be removed.
func ownFolder(folder string) (string, error) {
	if folder == "" {
		return "", errors.New("--dir is missing: keys, data and logs need a folder; name one that does not exist yet\n" + usage)
	}
	folder, err := filepath.Abs(folder)
	if err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("%s is not empty, and it would be removed when the control plane stops; name a new folder", folder)
	}
	return folder, os.MkdirAll(folder, 0o700)
}

// start brings the components up in the order in which they need each other.
func start(ctx context.Context, folder string, children *family) (*cluster, *report, *controllers, error) {
	c, err := newCluster(folder)
	if err != nil {
		return nil, nil, nil, err
	}
	etcdClient, err := client(c.etcdCA, c.etcd)
	if err != nil {
		return nil, nil, nil, err
	}
	err = children.startOnPorts(c.logs, "etcd", c.etcdFlags, []*int{&c.etcdPort, &c.peerPort}, func(etcd *child) error {
		return untilServing(ctx, etcd, etcdClient, fmt.Sprintf("https://%s:%d/health", loopback, c.etcdPort))
	})
	if err != nil {
		return nil, nil, nil, err
	}
	var manager *child
	admin := identity{commonName: "admin", groups: []string{"system:masters"}}
	probe, err := c.ca.issue("probe", admin)
	if err != nil {
		return nil, nil, nil, err
	}
	apiClient, err := client(c.ca, probe)
	if err != nil {
		return nil, nil, nil, err
	}
	err = children.startOnPorts(c.logs, "kube-apiserver", c.apiServerFlags, []*int{&c.serverPort}, func(server *child) error {
		return untilServing(ctx, server, apiClient, c.server()+"/readyz")
	})
	if err != nil {
		return nil, nil, nil, err
	}
	started := map[string]func() (*child, error){}
	for name, flags := range map[string]func(string) []string{
		controllerManager: c.controllerManagerFlags,
		"kube-scheduler":  c.schedulerFlags,
	} {
		kubeconfig, err := c.kubeconfig(name, identity{commonName: "system:" + name})
		if err != nil {
			return nil, nil, nil, err
		}
		started[name] = func() (*child, error) { return children.start(c.logs, name, flags(kubeconfig)) }
		one, err := started[name]()
		if err != nil {
			return nil, nil, nil, err
		}
		if name == controllerManager {
			manager = one
		}
	}
	kubeconfig, err := c.kubeconfig("admin", admin)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := children.unlessDead(func() error { return untilServiceAccount(ctx, apiClient, c.server(), "default") }); err != nil {
		return nil, nil, nil, err
	}
	ca := reportCA{Cert: c.ca.certPath, Key: c.ca.keyPath}
	ready := &report{Server: c.server(), CA: ca, AdminKubeconfig: kubeconfig, Nodes: c.nodes, PID: os.Getpid()}
	return c, ready, &controllers{children, manager, started[controllerManager], apiClient, c.server()}, nil
}
