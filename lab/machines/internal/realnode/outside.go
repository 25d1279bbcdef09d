//go:build linux

package realnode

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Commands of this binary that belong to a real node; see Main.
const (
	upCommand     = "real-node"
	enterCommand  = "real-node-enter"
	insideCommand = "real-node-inside"
)

// Main handles the commands of a real node, and being called as runc. False when the arguments are others'.
func Main(arguments []string) (handled bool, code int) {
	if filepath.Base(arguments[0]) == "runc" {
		return true, runcWithoutSeccomp(arguments)
	}
	if len(arguments) != 3 {
		return false, 0
	}
	var err error
	switch arguments[1] {
	case upCommand:
		err = up(arguments[2])
	case enterCommand:
		err = enter(arguments[2])
	case insideCommand:
		err = inside(arguments[2])
	default:
		return false, 0
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "real node: %v\n", err)
		return true, 1
	}
	return true, 0
}

// up starts a node in namespaces of its own, says `ready` on standard output once its kubelet serves, and stays until standard input closes, the node
// ends or a signal comes. `stop` and `start` on standard input do what a reboot does.
func up(path string) error {
	spec, err := load(path)
	if err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return fmt.Errorf("a real node needs root, for its namespaces and mounts; run the lab as root, or leave --node real out")
	}
	ctx, end := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer end()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	for _, folder := range []string{"programs", "images", "logs"} {
		if err := os.MkdirAll(filepath.Join(spec.Folder, folder), 0o700); err != nil {
			return err
		}
	}
	stop, err := serveAPI(spec)
	if err != nil {
		return err
	}
	defer stop()
	if err := prepare(spec); err != nil {
		return err
	}
	groups, err := makeGroups(fmt.Sprintf("talos-gpu-node-%d", os.Getpid()))
	if err != nil {
		return err
	}
	defer groups.remove()
	return run(ctx, spec, path, groups)
}

func run(ctx context.Context, spec *Spec, path string, groups groups) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(self, enterCommand, path)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL, Setpgid: true,
	}
	begin, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("starting the node in namespaces of its own: %w; root without CAP_SYS_ADMIN cannot", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	fail := func(err error) error {
		_ = command.Process.Kill()
		<-ended
		return err
	}
	if err := groups.take(command.Process.Pid); err != nil {
		return fail(err)
	}
	if err := connect(spec, command.Process.Pid); err != nil {
		return fail(err)
	}
	if _, err := begin.Write([]byte("go\n")); err != nil {
		return fail(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("the node ended: %w; its logs are in %s", err, filepath.Join(spec.Folder, "logs"))
		}
		return nil
	case <-ctx.Done():
		return fail(nil)
	}
}

// connect lays a cable from this computer into the node's network. It goes with the node's network namespace.
func connect(spec *Spec, pid int) error {
	for _, line := range []string{
		fmt.Sprintf("link add %s type veth peer name eth0 netns %d", spec.link(), pid),
		fmt.Sprintf("addr add %s/30 dev %s", spec.gateway(), spec.link()),
		fmt.Sprintf("link set %s up", spec.link()),
	} {
		if err := ip(line); err != nil {
			return err
		}
	}
	return nil
}

func ip(line string) error {
	said, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %s: %w; the node's network needs iproute2 and a kernel with veth and bridges", line, strings.TrimSpace(string(said)), err)
	}
	return nil
}

// serveAPI passes the cluster's API on: it listens on this computer's loopback, which the node has not.
func serveAPI(spec *Spec) (func(), error) {
	server, err := url.Parse(spec.Server)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", filepath.Join(spec.Folder, "api.sock"))
	if err != nil {
		return nil, err
	}
	go forward(listener, "tcp", server.Host)
	return func() { listener.Close() }, nil
}

// forward connects whoever comes to an address.
func forward(listener net.Listener, network, address string) {
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			server, err := net.DialTimeout(network, address, 10*time.Second)
			if err != nil {
				return
			}
			defer server.Close()
			done := make(chan struct{}, 2)
			for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1])
					done <- struct{}{}
				}()
			}
			<-done
		}()
	}
}
