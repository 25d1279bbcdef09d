package main

import (
	"bufio"
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
	if err := up(ctx, *folder, asked); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// up starts the control plane and keeps it until ctx ends. That end is no error; a child's death is. It restarts its controllers
// whenever it is asked.
func up(ctx context.Context, folder string, asked <-chan string) (err error) {
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
	ready, controllers, err := start(starting, folder, children)
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
			if word != "restart" {
				return fmt.Errorf("%q on standard input is not restart", word)
			}
			err := controllers.handOver(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			if err := tell.Encode(struct{}{}); err != nil {
				return fmt.Errorf("reporting that other controllers work: %w", err)
			}
		}
	}
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
func start(ctx context.Context, folder string, children *family) (*report, *controllers, error) {
	c, err := newCluster(folder)
	if err != nil {
		return nil, nil, err
	}
	etcdClient, err := client(c.etcdCA, c.etcd)
	if err != nil {
		return nil, nil, err
	}
	err = children.startOnPorts(c.logs, "etcd", c.etcdFlags, []*int{&c.etcdPort, &c.peerPort}, func(etcd *child) error {
		return untilServing(ctx, etcd, etcdClient, fmt.Sprintf("https://%s:%d/health", loopback, c.etcdPort))
	})
	if err != nil {
		return nil, nil, err
	}
	admin := identity{commonName: "admin", groups: []string{"system:masters"}}
	probe, err := c.ca.issue("probe", admin)
	if err != nil {
		return nil, nil, err
	}
	apiClient, err := client(c.ca, probe)
	if err != nil {
		return nil, nil, err
	}
	err = children.startOnPorts(c.logs, "kube-apiserver", c.apiServerFlags, []*int{&c.serverPort}, func(server *child) error {
		return untilServing(ctx, server, apiClient, c.server()+"/readyz")
	})
	if err != nil {
		return nil, nil, err
	}
	starters := map[string]func() (*child, error){}
	for name, flags := range map[string]func(string) []string{
		controllerManager: c.controllerManagerFlags,
		"kube-scheduler":  c.schedulerFlags,
	} {
		kubeconfig, err := c.kubeconfig(name, identity{commonName: "system:" + name})
		if err != nil {
			return nil, nil, err
		}
		starters[name] = func() (*child, error) { return children.start(c.logs, name, flags(kubeconfig)) }
	}
	if _, err := starters["kube-scheduler"](); err != nil {
		return nil, nil, err
	}
	startManager := starters[controllerManager]
	manager, err := startManager()
	if err != nil {
		return nil, nil, err
	}
	kubeconfig, err := c.kubeconfig("admin", admin)
	if err != nil {
		return nil, nil, err
	}
	if err := children.unlessDead(func() error { return untilServiceAccount(ctx, apiClient, c.server(), "default") }); err != nil {
		return nil, nil, err
	}
	ca := reportCA{Cert: c.ca.certPath, Key: c.ca.keyPath}
	ready := &report{Server: c.server(), CA: ca, AdminKubeconfig: kubeconfig, Nodes: c.nodes, PID: os.Getpid()}
	return ready, &controllers{children, manager, startManager}, nil
}

// untilParentGone returns once standard input closes: the owner stopped us, or is gone itself. Until then every line of it is a word
// for us, one at a time.
func untilParentGone(asked chan<- string) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		asked <- lines.Text()
	}
}
